// A chain of topics with a copier between each and the next: sources write to the first, and now and then to the
// others, and in the end everything that was written has to be in the last, once.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/task.h"
#include "foundation/function.h"
#include "platform/seams.h"
#include "simulation/broker_directory.h"
#include "simulation/copier.h"
#include "simulation/copy_history.h"
#include "simulation/fault_plan.h"

namespace naru::simulation {

class CopyChain {
 public:
  // Everything outlives it.
  CopyChain(Seams seams, BrokerDirectory& brokers, const RunPlan& plan, const bool& stopping,
            UniqueFunction<void(std::string)>& failed)
      : seams_(seams), brokers_(brokers), plan_(plan), stopping_(stopping), failed_(failed) {}

  // None: the run has no chain.
  std::vector<std::string> topics() const;
  // These run until the run stops.
  Task<void> write_sources();
  Task<void> copy(int stage);
  Task<void> read();
  // On healed brokers, when nobody else writes: copies what is left, and checks all of it.
  Task<void> finish(Duration limit);

  const CopyHistory& history() const { return history_; }
  // The transactional ids of those who have asked to commit, and wait.
  const std::set<std::string>& committing() const { return committing_; }

 private:
  Task<void> pause(Duration longest);
  Copier copier(int stage);
  PartitionName random_partition(bool but_last);
  Task<void> write_source(std::shared_ptr<KafkaClient> client, PartitionName partition);
  // Whether somebody can say why not, after faults that destroy logs.
  bool is_excused(ErrorCode error) const;
  Task<bool> check_stable_end(PartitionName partition, MonotonicTime deadline);
  Task<bool> read_whole(PartitionName partition, MonotonicTime deadline);

  Seams seams_;
  BrokerDirectory& brokers_;
  const RunPlan& plan_;
  const bool& stopping_;
  UniqueFunction<void(std::string)>& failed_;
  CopyHistory history_;
  std::set<std::string> committing_;
};

}  // namespace naru::simulation
