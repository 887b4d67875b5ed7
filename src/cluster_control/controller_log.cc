#include "cluster_control/controller_log.h"

#include <string_view>

#include "foundation/log.h"

namespace naru {
namespace {

std::string_view describe_return(DataLoss loss) {
  switch (loss) {
    case DataLoss::nothing:
      return "is here";
    case DataLoss::unsynced:
      return "is here, and was not shut down cleanly before";
    case DataLoss::some:
      return "is here without some of the data folders that it had, or with older copies of them";
    case DataLoss::everything:
      return "is here with other data folders than it had: what it stored is gone";
  }
  return "";
}

}  // namespace

void log_settled(const std::map<BrokerId, int64_t>& before, const BrokerStandings& standings,
                 const SettlePartitionsPlanner& planner) {
  const SettlePartitionsPlanner::Tally& tally = planner.tally();
  for (const auto& [id, epoch] : before) {
    if (standings.of(id).registered) continue;
    log_info("controller", "broker {} is gone: {} partitions get new leaders, {} have none", id, tally.new_leaders,
             tally.leaders_lost);
  }
  for (const auto& [id, standing] : standings.registered()) {
    if (!standing.returned) continue;
    log_info("controller", "broker {} {}: {} partitions get new leaders, {} have none", id,
             describe_return(standing.loss), tally.new_leaders, tally.leaders_lost);
  }
  if (tally.possible_loss > 0) {
    log_warn("controller",
             "possible loss: {} partitions are led by a broker that may have lost acknowledged records, and no other "
             "replica was in sync",
             tally.possible_loss);
  }
  if (tally.unclean > 0) {
    log_warn("controller", "{} partitions got a leader that was not in sync: acknowledged records may be lost",
             tally.unclean);
  }
  if (tally.data_lost > 0) {
    log_error("controller",
              "{} partitions have no leader, because all in-sync replicas have lost their data: an unclean leader "
              "election makes them usable again, with what the other replicas have",
              tally.data_lost);
  }
}

}  // namespace naru
