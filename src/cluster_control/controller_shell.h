// The controller of this process, as the rest of the broker sees it: requests to the metadata, and who the controller
// is.
//
// Requests are served by the controller in office; elsewhere they answer not_controller (forward them to
// controller().id). A failed store is unavailable: outcome unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cluster_control/allocate_producer_ids.h"
#include "cluster_control/alter_configs.h"
#include "cluster_control/alter_partitions.h"
#include "cluster_control/controller_metrics.h"
#include "cluster_control/controller_office.h"
#include "cluster_control/controller_start.h"
#include "cluster_control/create_partitions.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/delete_topics.h"
#include "cluster_control/elect_leaders.h"
#include "cluster_control/metadata_feed.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/planner_runner.h"
#include "configuration/broker_config.h"
#include "coordination_store/coordination_store.h"
#include "platform/clock.h"
#include "platform/random.h"
#include "platform/scheduler.h"

namespace naru {

// A partition by the name that people give it.
struct TopicPartition {
  std::string topic;
  PartitionIndex index;

  auto operator<=>(const TopicPartition&) const = default;
};

// Thread-safe. Everything it is made of outlives it, and it outlives its tasks. Stopped before it is destroyed, if it
// was started.
class ControllerShell {
 public:
  struct Parts {
    CoordinationStore& store;
    MetadataPublisher& publisher;
    MetricsRegistry& metrics;
    const BrokerConfig& config;
    const Clock& clock;
    Random& random;
    Scheduler& scheduler;
    Duration session_timeout{};  // of the store
    OpenStore reopen_store;      // none: an expired session is final
    WriteEpoch write_epoch;      // none: there are no data folders
  };
  explicit ControllerShell(Parts parts);

  // Registers this broker and campaigns. Ok when this broker is the controller, which has published its image then, or
  // another one is. Before anything else, once. A store that does not answer is waited for, for as long as
  // naru.coordination.start.timeout.ms says, or until `cancelled`.
  Task<Status> start(BrokerRegistration registration, CancelToken cancelled = {});
  // Before this broker stops: if it is the controller, another one takes over at once. It will not be again.
  Task<void> resign();
  // Before the store is closed. Ends what the controller does by itself; requests go on as long as the store does.
  Task<void> stop();

  bool is_in_office() const { return controller().here; }
  // It is, and its session is connected: as far as it can know, nobody else is.
  bool has_contact() const { return is_in_office() && office_.is_connected(); }
  // Whom this process believes to be the controller.
  ControllerView controller() const { return office_.controller(); }
  // Returns when controller() is not `seen` any more, or the token is cancelled. While the controller is here, images
  // are published by it; afterwards by whoever follows the next one's feed.
  Task<void> wait_for_change(ControllerView seen, CancelToken token) { return office_.wait_for_change(seen, token); }
  // Of this broker's registration; another one after each new session.
  int64_t broker_epoch() const { return office_.broker_epoch(); }
  // What other brokers follow while the controller is here.
  MetadataFeed& feed() { return feed_; }

  // Results in the order of the request. What they say of topics and configurations is in effect on this broker when
  // they arrive. A failed store is unavailable (outcome unknown), a lost office not_controller. With `given_up`,
  // nothing is done, and that is the result: the request was passed on to another controller, and nobody knows what
  // became of it.
  Task<std::vector<CreateTopicResult>> create_topics(CreateTopicsRequest request, Status given_up = {});
  // With the broker's defaults, one result for each distinct name; ok for a topic that exists already.
  // unknown_topic_or_partition where auto.create.topics.enable is false.
  Task<std::vector<CreateTopicResult>> auto_create_topics(std::vector<std::string> names);
  Task<std::vector<MorePartitionsResult>> create_partitions(std::vector<MorePartitions> topics, bool validate_only,
                                                            Status given_up = {});
  Task<std::vector<DeleteTopicResult>> delete_topics(std::vector<TopicReference> topics, Status given_up = {});
  Task<std::vector<AlterConfigsResult>> alter_configs(std::vector<AlterConfigsItem> items, bool validate_only,
                                                      Status given_up = {});
  // A block that nobody has got and nobody will get. Blocks of unknown outcome are lost, not given twice.
  Task<Result<ProducerIdBlock>> allocate_producer_ids();
  Task<std::vector<DeletionConfirmationResult>> confirm_deletions(BrokerId broker, std::vector<Uuid> topic_ids);

  // A leader, in the epoch of its registration, asks for other ISRs. Results in the order of the changes.
  Task<Result<AlterPartitionResults>> alter_partitions(BrokerId leader, int64_t broker_epoch,
                                                       std::vector<IsrChange> changes);
  // Moves leadership away from a broker that is going to stop, and takes it out of ISRs, wherever others are left;
  // until it has registered again it gets neither. Returns what it still leads. stale_broker_epoch,
  // broker_id_not_registered.
  Task<Result<std::vector<TopicPartition>>> controlled_shutdown(BrokerId broker, int64_t broker_epoch);
  // As the controller: whether every other registered broker is shutting down as well.
  bool all_others_stop(BrokerId self) const;
  // A broker, in the epoch of its registration, cannot use its logs of these partitions, and can use all others: until
  // it says otherwise or registers again, it leads none of them and is in sync with none, wherever others are left.
  // Where none are, nobody leads.
  Task<Status> report_offline_logs(BrokerId broker, int64_t broker_epoch, PartitionIds partitions);
  // Forgets a broker that is gone for good: unregister_broker.h says when that is refused.
  Task<Status> unregister_broker(BrokerId broker);
  // None: all partitions, and only those results that are not election_not_needed.
  Task<std::vector<ElectLeadersResult>> elect_leaders(ElectionType type,
                                                      std::optional<std::vector<TopicPartition>> partitions,
                                                      Status given_up = {});

 private:
  // Returns when the changes are in effect here.
  Task<void> run(Planner& planner, Status given_up);
  CreateTopicResult existing_topic(const std::string& name) const;

  MetadataPublisher& publisher_;
  const BrokerConfig& config_;
  const Clock& clock_;
  Random& random_;
  Scheduler& scheduler_;
  MetadataFeed feed_;
  PlannerRunner runner_;
  ControllerOffice office_;
  ControllerMetrics metrics_;
};

}  // namespace naru
