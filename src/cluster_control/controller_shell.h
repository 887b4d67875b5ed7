// The controller of this process: runs planners on the coordination store, and publishes what came of it.
//
// Requests take turns, one transaction at a time, so that a large one does not keep the others waiting. A transaction
// that meets a conflict, or whose outcome is unknown, is planned again on metadata that was read again. A controller
// whose epoch is not the store's any more answers not_controller for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cluster_control/allocate_producer_ids.h"
#include "cluster_control/alter_configs.h"
#include "cluster_control/controller_start.h"
#include "cluster_control/create_partitions.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/delete_topics.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/planner.h"
#include "cluster_control/turnstile.h"
#include "configuration/broker_config.h"
#include "coordination_store/coordination_store.h"
#include "platform/clock.h"
#include "platform/random.h"
#include "platform/scheduler.h"

namespace naru {

// Thread-safe. Everything it is made of outlives it, and it outlives its tasks.
class ControllerShell {
 public:
  struct Parts {
    CoordinationStore& store;
    MetadataPublisher& publisher;
    const BrokerConfig& config;
    const Clock& clock;
    Random& random;
    Scheduler& scheduler;
  };
  explicit ControllerShell(Parts parts);

  // Reads the metadata, registers this broker, takes office. Before anything else, once.
  Task<Status> start(BrokerRegistration registration);

  // Results in the order of the request. What they say is in effect on this broker when they arrive. A failed store is
  // unavailable (outcome unknown), a lost office not_controller.
  Task<std::vector<CreateTopicResult>> create_topics(CreateTopicsRequest request);
  // With the broker's defaults, one result for each distinct name; ok for a topic that exists already.
  // unknown_topic_or_partition where auto.create.topics.enable is false.
  Task<std::vector<CreateTopicResult>> auto_create_topics(std::vector<std::string> names);
  Task<std::vector<MorePartitionsResult>> create_partitions(std::vector<MorePartitions> topics, bool validate_only);
  Task<std::vector<DeleteTopicResult>> delete_topics(std::vector<TopicReference> topics);
  Task<std::vector<AlterConfigsResult>> alter_configs(std::vector<AlterConfigsItem> items, bool validate_only);
  // A block that nobody has got and nobody will get. Blocks of unknown outcome are lost, not given twice.
  Task<Result<ProducerIdBlock>> allocate_producer_ids();
  Task<std::vector<DeletionConfirmationResult>> confirm_deletions(BrokerId broker, std::vector<Uuid> topic_ids);

 private:
  Task<void> run(Planner& planner);
  Task<Status> run_step(Planner& planner);
  Task<Status> try_step(Planner& planner);
  Task<Status> reload();
  Task<Result<std::vector<KeyValue>>> list_consistently();
  Task<Status> adopt(const Transaction& transaction, const std::vector<KeyVersion>& versions);
  Task<bool> session_expired();
  CreateTopicResult existing_topic(const std::string& name) const;

  Parts parts_;
  Turnstile turnstile_;
  // Whoever has the turn reads and writes these.
  MetadataImagePtr image_ = std::make_shared<const MetadataImage>();
  bool image_is_current_ =
      false;  // as far as this controller knows: nothing of unknown outcome happened since it was read
  std::optional<int32_t> epoch_;  // of this controller, since it took office
};

}  // namespace naru
