#include "cluster_control/controller_shell.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster_control/offline_logs.h"
#include "cluster_control/unregister_broker.h"
#include "foundation/log.h"

namespace naru {
namespace {

std::vector<TopicPartition> led_by(const MetadataImage& image, BrokerId broker) {
  std::vector<TopicPartition> led;
  for (const TopicMetadataPtr& topic : image.topics()) {
    for (const PartitionStatePtr& state : topic->partitions) {
      if (state->leader == broker) led.push_back({topic->name, state->index});
    }
  }
  return led;
}

Status check_registered(const MetadataImage& image, BrokerId broker, int64_t broker_epoch) {
  const BrokerMetadata* registered = image.find_broker(broker);
  if (registered == nullptr) {
    return error(ErrorCode::broker_id_not_registered, "broker {} is not registered", broker);
  }
  if (registered->epoch != broker_epoch) {
    return error(ErrorCode::stale_broker_epoch, "broker {} has registered again, with epoch {}", broker,
                 registered->epoch);
  }
  return {};
}

bool changes_elections(const AlterConfigsItem& item) {
  return std::ranges::any_of(
      item.changes, [](const ConfigChange& change) { return change.name == "unclean.leader.election.enable"; });
}

}  // namespace

ControllerShell::ControllerShell(Parts parts)
    : publisher_(parts.publisher),
      config_(parts.config),
      clock_(parts.clock),
      random_(parts.random),
      scheduler_(parts.scheduler),
      feed_(parts.scheduler),
      runner_({parts.publisher, feed_, parts.clock, parts.scheduler, fenced_counter(parts.metrics)}),
      office_({.store = parts.store,
               .reopen_store = std::move(parts.reopen_store),
               .write_epoch = std::move(parts.write_epoch),
               .session_timeout = parts.session_timeout,
               .runner = runner_,
               .config = parts.config,
               .clock = parts.clock,
               .random = parts.random,
               .scheduler = parts.scheduler}),
      metrics_(parts.metrics, parts.publisher, [this] { return is_in_office(); }) {}

Task<Status> ControllerShell::start(BrokerRegistration registration, CancelToken cancelled) {
  NARU_CO_TRY(co_await office_.start(std::move(registration), cancelled));
  co_await publisher_.take_effect();
  co_return Status();
}

Task<void> ControllerShell::resign() {
  return office_.resign();
}

Task<void> ControllerShell::stop() {
  return office_.stop();
}

Task<void> ControllerShell::run(Planner& planner, Status given_up) {
  if (!given_up.ok()) co_return planner.abandon(given_up);
  co_await runner_.run(planner);
  co_await publisher_.take_effect();
}

Task<std::vector<CreateTopicResult>> ControllerShell::create_topics(CreateTopicsRequest request, Status given_up) {
  for (NewTopic& topic : request.topics) topic.id = random_.uuid();
  CreateTopicsPlanner planner(std::move(request), config_, clock_.wall_now_ms(), office_.stopping());
  co_await run(planner, std::move(given_up));
  co_return planner.take_results();
}

Task<std::vector<CreateTopicResult>> ControllerShell::auto_create_topics(std::vector<std::string> names) {
  if (!config_.auto_create_topics_enable) {
    std::vector<CreateTopicResult> refused;
    const Status status(ErrorCode::unknown_topic_or_partition, "auto.create.topics.enable is false");
    for (std::string& name : names) refused.push_back({.name = std::move(name), .status = status});
    co_return refused;
  }
  std::set<std::string> distinct;
  CreateTopicsRequest request;
  for (const std::string& name : names) {
    if (distinct.insert(name).second) request.topics.push_back({.name = name});
  }
  auto results = co_await create_topics(std::move(request));
  for (CreateTopicResult& result : results) {
    if (result.status == ErrorCode::topic_already_exists) result = existing_topic(result.name);
  }
  co_return results;
}

Task<std::vector<MorePartitionsResult>> ControllerShell::create_partitions(std::vector<MorePartitions> topics,
                                                                           bool validate_only, Status given_up) {
  CreatePartitionsPlanner planner(std::move(topics), validate_only, office_.stopping());
  co_await run(planner, std::move(given_up));
  co_return planner.take_results();
}

Task<std::vector<DeleteTopicResult>> ControllerShell::delete_topics(std::vector<TopicReference> topics,
                                                                    Status given_up) {
  DeleteTopicsPlanner planner(std::move(topics), config_);
  co_await run(planner, std::move(given_up));
  co_return planner.take_results();
}

Task<std::vector<AlterConfigsResult>> ControllerShell::alter_configs(std::vector<AlterConfigsItem> items,
                                                                     bool validate_only, Status given_up) {
  const bool elections = !validate_only && given_up.ok() && std::ranges::any_of(items, changes_elections);
  AlterConfigsPlanner planner(std::move(items), validate_only, config_);
  co_await run(planner, std::move(given_up));
  if (elections) office_.settle_again();
  co_return planner.take_results();
}

Task<Result<ProducerIdBlock>> ControllerShell::allocate_producer_ids() {
  AllocateProducerIdsPlanner planner;
  co_await runner_.run(planner);
  co_return planner.result();
}

Task<std::vector<DeletionConfirmationResult>> ControllerShell::confirm_deletions(BrokerId broker,
                                                                                 std::vector<Uuid> topic_ids) {
  std::vector<DeletionConfirmation> confirmations;
  for (const Uuid& id : topic_ids) confirmations.push_back({id});
  ConfirmDeletionsPlanner planner(broker, std::move(confirmations));
  co_await runner_.run(planner);
  co_return planner.take_results();
}

Task<Result<AlterPartitionResults>> ControllerShell::alter_partitions(BrokerId leader, int64_t broker_epoch,
                                                                      std::vector<IsrChange> changes) {
  AlterPartitionsPlanner planner(leader, broker_epoch, std::move(changes), office_.stopping());
  co_await runner_.run(planner);
  co_return planner.take_results();
}

Task<Result<std::vector<TopicPartition>>> ControllerShell::controlled_shutdown(BrokerId broker, int64_t broker_epoch) {
  NARU_CO_TRY(co_await runner_.look_again());
  NARU_CO_TRY(check_registered(*runner_.image(), broker, broker_epoch));
  office_.note_stopping(broker, broker_epoch);
  SettlePartitionsPlanner planner(config_, [this] { return office_.stopping(); });
  co_await runner_.run(planner);
  NARU_CO_TRY(planner.status());
  co_return led_by(*runner_.image(), broker);
}

bool ControllerShell::all_others_stop(BrokerId self) const {
  const BrokerStandings standings(*runner_.image(), office_.stopping());
  return std::ranges::all_of(standings.registered(),
                             [self](const auto& broker) { return broker.first == self || broker.second.stopping; });
}

Task<Status> ControllerShell::report_offline_logs(BrokerId broker, int64_t broker_epoch, PartitionIds partitions) {
  NARU_CO_TRY(co_await runner_.look_again());
  const MetadataImagePtr image = runner_.image();
  NARU_CO_TRY(check_registered(*image, broker, broker_epoch));
  if (!image->is_settled(broker)) {
    co_return error(ErrorCode::unavailable, "broker {} has just come back: what it has lost is dealt with first",
                    broker);
  }
  const size_t count = partitions.size();
  NoteOfflineLogsPlanner note(broker, {broker_epoch, std::move(partitions)});
  co_await runner_.run(note);
  NARU_CO_TRY(note.status());
  SettlePartitionsPlanner planner(config_, [this] { return office_.stopping(); });
  co_await runner_.run(planner);
  NARU_CO_TRY(planner.status());
  log_warn("controller", "broker {} has {} offline logs of replicated partitions: {} get new leaders, {} have none",
           broker, count, planner.tally().new_leaders, planner.tally().leaders_lost);
  co_return Status();
}

Task<Status> ControllerShell::unregister_broker(BrokerId broker) {
  NARU_CO_TRY(co_await runner_.look_again());
  const MetadataImagePtr image = runner_.image();
  if (image->find_broker(broker) == nullptr && image->known_brokers().contains(broker)) {
    // It may have gone a moment ago: it leaves the ISRs that have other members first.
    SettlePartitionsPlanner settle(config_, [this] { return office_.stopping(); });
    co_await runner_.run(settle);
    NARU_CO_TRY(settle.status());
  }
  UnregisterBrokerPlanner planner(broker);
  co_await run(planner, {});
  NARU_CO_TRY(planner.status());
  log_info("controller", "broker {} is unregistered: what was remembered of it is forgotten", broker);
  co_return Status();
}

Task<std::vector<ElectLeadersResult>> ControllerShell::elect_leaders(
    ElectionType type, std::optional<std::vector<TopicPartition>> partitions, Status given_up) {
  const MetadataImagePtr image = runner_.image();
  std::vector<ElectLeadersItem> items;
  if (!partitions) {
    co_await for_each_topic(scheduler_, image, [&](const TopicMetadata& topic) { add_partitions_of(topic, items); });
  }
  for (TopicPartition& partition : partitions ? *partitions : std::vector<TopicPartition>()) {
    const TopicMetadata* topic = image->find_topic(std::string_view(partition.topic));
    items.push_back({std::move(partition.topic), partition.index, topic == nullptr ? Uuid() : topic->id});
  }
  ElectLeadersPlanner planner(type, std::move(items), office_.stopping());
  if (given_up.ok()) {
    co_await runner_.run(planner);
  } else {
    planner.abandon(given_up);
  }
  auto results = planner.take_results();
  if (!partitions) {
    std::erase_if(results, [](const auto& result) { return result.status == ErrorCode::election_not_needed; });
  }
  co_return results;
}

CreateTopicResult ControllerShell::existing_topic(const std::string& name) const {
  const MetadataImagePtr image = publisher_.current();
  const TopicMetadata* topic = image->find_topic(std::string_view(name));
  if (topic == nullptr) {
    return {.name = name, .status = Status(ErrorCode::unknown_topic_or_partition, "the topic was deleted meanwhile")};
  }
  return {name, {}, topic->id, topic->partition_count(), topic->replication_factor(), topic->configs};
}

}  // namespace naru
