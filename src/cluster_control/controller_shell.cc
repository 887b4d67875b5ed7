#include "cluster_control/controller_shell.h"

#include <set>
#include <utility>

#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/metadata_keys.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr size_t kMaxWaitingRequests = 1000;
constexpr int kMaxAttempts = 8;
constexpr int kMaxListings = 5;
constexpr Duration kFirstBackoff = 20ms;

bool may_be_retried(const Status& status) {
  return status == ErrorCode::version_conflict || status == ErrorCode::unavailable;
}

}  // namespace

ControllerShell::ControllerShell(Parts parts) : parts_(parts), turnstile_(kMaxWaitingRequests) {}

Task<Status> ControllerShell::start(BrokerRegistration registration) {
  const BrokerId id = registration.id;
  // First, so that a process with a wrong node.id does not put the right one out of office.
  RegisterBrokerPlanner registering(std::move(registration));
  co_await run(registering);
  NARU_CO_TRY(registering.status());

  ClaimControllerPlanner claim(id, parts_.random.uuid());
  co_await run(claim);
  NARU_CO_TRY(claim.status());
  epoch_ = claim.epoch();
  log_info("controller", "broker {} is the controller, epoch {}", id, *epoch_);
  co_return Status();
}

Task<std::vector<CreateTopicResult>> ControllerShell::create_topics(CreateTopicsRequest request) {
  for (NewTopic& topic : request.topics) topic.id = parts_.random.uuid();
  CreateTopicsPlanner planner(std::move(request), parts_.config, parts_.clock.wall_now_ms());
  co_await run(planner);
  co_return planner.take_results();
}

Task<std::vector<CreateTopicResult>> ControllerShell::auto_create_topics(std::vector<std::string> names) {
  if (!parts_.config.auto_create_topics_enable) {
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
                                                                           bool validate_only) {
  CreatePartitionsPlanner planner(std::move(topics), validate_only);
  co_await run(planner);
  co_return planner.take_results();
}

Task<std::vector<DeleteTopicResult>> ControllerShell::delete_topics(std::vector<TopicReference> topics) {
  DeleteTopicsPlanner planner(std::move(topics), parts_.config);
  co_await run(planner);
  co_return planner.take_results();
}

Task<std::vector<AlterConfigsResult>> ControllerShell::alter_configs(std::vector<AlterConfigsItem> items,
                                                                     bool validate_only) {
  AlterConfigsPlanner planner(std::move(items), validate_only, parts_.config);
  co_await run(planner);
  co_return planner.take_results();
}

Task<Result<ProducerIdBlock>> ControllerShell::allocate_producer_ids() {
  AllocateProducerIdsPlanner planner;
  co_await run(planner);
  co_return planner.result();
}

Task<std::vector<DeletionConfirmationResult>> ControllerShell::confirm_deletions(BrokerId broker,
                                                                                 std::vector<Uuid> topic_ids) {
  std::vector<DeletionConfirmation> confirmations;
  for (const Uuid& id : topic_ids) confirmations.push_back({id});
  ConfirmDeletionsPlanner planner(broker, std::move(confirmations));
  co_await run(planner);
  co_return planner.take_results();
}

Task<void> ControllerShell::run(Planner& planner) {
  while (!planner.done()) {
    auto turn = co_await turnstile_.enter();
    if (!turn) {
      planner.abandon(turn.error());
      break;
    }
    if (const Status status = co_await run_step(planner); !status.ok()) planner.abandon(status);
  }
}

// One transaction, however many attempts it takes.
Task<Status> ControllerShell::run_step(Planner& planner) {
  Duration backoff = kFirstBackoff;
  for (int attempt = 1;; ++attempt) {
    const Status status = co_await try_step(planner);
    if (status.ok() || !may_be_retried(status) || attempt == kMaxAttempts) co_return status;
    if (status == ErrorCode::version_conflict) continue;
    if (co_await session_expired()) co_return status;
    ignore(co_await sleep_until(parts_.scheduler, parts_.clock.now() + backoff));
    backoff *= 2;
  }
}

Task<Status> ControllerShell::try_step(Planner& planner) {
  if (!image_is_current_) NARU_CO_TRY(co_await reload());
  const ClusterMetadata& cluster = image_->cluster();
  if (epoch_ && cluster.controller_epoch != *epoch_) {
    co_return error(ErrorCode::not_controller, "broker {} is the controller now, epoch {}", cluster.controller_id,
                    cluster.controller_epoch);
  }
  const std::optional<Transaction> transaction = planner.plan(*image_);
  if (transaction) {
    image_is_current_ = false;
    const auto versions = co_await parts_.store.commit(*transaction);
    if (!versions) {
      image_is_current_ = versions.error() == ErrorCode::disk_full;  // then nothing happened
      co_return versions.error();
    }
    NARU_CO_TRY(co_await adopt(*transaction, *versions));
  }
  planner.committed();
  co_return Status();
}

// The metadata from scratch.
Task<Status> ControllerShell::reload() {
  const auto entries = co_await list_consistently();
  if (!entries) co_return entries.error();
  const MetadataImage nothing;
  MetadataImageBuilder builder(nothing);
  for (const KeyValue& entry : *entries) {
    NARU_CO_TRY(builder.put(entry.key, entry.value.view(), entry.version));
  }
  auto image = builder.build();
  if (!image) co_return image.error();
  image_ = std::move(*image);
  image_is_current_ = true;
  co_await parts_.publisher.publish(image_);
  co_return Status();
}

// A listing need not be one moment; it is when no transaction happened meanwhile, and every one changes the generation.
Task<Result<std::vector<KeyValue>>> ControllerShell::list_consistently() {
  const std::string generation(metadata_keys::kGeneration);
  for (int listing = 0; listing < kMaxListings; ++listing) {
    const auto before = co_await parts_.store.get(generation);
    if (!before) co_return failure(before.error());
    auto entries = co_await parts_.store.list("");
    if (!entries) co_return failure(entries.error());
    const auto after = co_await parts_.store.get(generation);
    if (!after) co_return failure(after.error());
    const KeyVersion version_before = *before ? (*before)->version : 0;
    const KeyVersion version_after = *after ? (*after)->version : 0;
    if (version_before == version_after) co_return entries;
  }
  co_return failure(ErrorCode::version_conflict, "the metadata changed during {} listings", kMaxListings);
}

// The transaction happened: the next image is the one before with its changes.
Task<Status> ControllerShell::adopt(const Transaction& transaction, const std::vector<KeyVersion>& versions) {
  MetadataImageBuilder builder(*image_);
  for (size_t i = 0; i < transaction.puts.size(); ++i) {
    const Put& put = transaction.puts[i];
    NARU_CO_TRY(builder.put(put.key, put.value, versions[i]));
  }
  for (const std::string& key : transaction.deletes) NARU_CO_TRY(builder.remove(key));
  auto image = builder.build();
  if (!image) co_return image.error();
  image_ = std::move(*image);
  image_is_current_ = true;
  co_await parts_.publisher.publish(image_);
  co_return Status();
}

Task<bool> ControllerShell::session_expired() {
  const Session session = co_await parts_.store.session();
  co_return session.state == SessionState::expired;
}

CreateTopicResult ControllerShell::existing_topic(const std::string& name) const {
  const MetadataImagePtr image = parts_.publisher.current();
  const TopicMetadata* topic = image->find_topic(std::string_view(name));
  if (topic == nullptr) {
    return {.name = name, .status = Status(ErrorCode::unknown_topic_or_partition, "the topic was deleted meanwhile")};
  }
  return {name, {}, topic->id, topic->partition_count(), topic->replication_factor(), topic->configs};
}

}  // namespace naru
