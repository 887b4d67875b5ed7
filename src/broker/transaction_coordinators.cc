#include "broker/transaction_coordinators.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "async/wakeup.h"
#include "broker/coordinator_topic.h"
#include "cluster_control/internal_topics.h"

namespace naru {
namespace {

TransactionSettings settings_of(const TransactionsConfig& config) {
  return {.timeout_max = config.max_timeout,
          .id_expiration = config.id_expiration,
          .expiry_interval = config.expiry_interval};
}

// Leaders elsewhere stand behind each other on one connection: none of them waits for longer, whatever the log does.
constexpr Duration kVerificationPatience = 2s;

// An answer that may come when nobody waits for it any more.
struct Joining {
  void set(Result<AddPartitionsAnswer> what) {
    {
      const std::scoped_lock lock(mutex);
      answer = std::move(what);
    }
    wakeup.wake();
  }
  Result<AddPartitionsAnswer> take() {
    const std::scoped_lock lock(mutex);
    if (answer) return std::move(*answer);
    return failure(ErrorCode::coordinator_not_available, "the coordinator has not committed it yet");
  }

  Wakeup wakeup;
  std::mutex mutex;
  std::optional<Result<AddPartitionsAnswer>> answer;
};

}  // namespace

TransactionCoordinators::TransactionCoordinators(Parts parts)
    : parts_(std::move(parts)),
      runtime_(std::string(kTransactionsTopic), *this, {parts_.seams.clock, parts_.seams.scheduler, parts_.metrics}),
      sender_({.seams = parts_.seams,
               .self = parts_.config.node_id,
               .metadata = parts_.metadata,
               .peers = parts_.peers,
               .writer = parts_.writer}) {
  gauges_.push_back(parts_.metrics.computed_gauge("naru_transactions_ending",
                                                  "Transactions whose markers are not all written", {},
                                                  [this] { return static_cast<double>(sender_.waiting()); }));
  gauges_.push_back(parts_.metrics.computed_gauge("naru_last_stable_offset_age_seconds",
                                                  "How long an open transaction has kept readers waiting", {},
                                                  [this] { return oldest_unstable_seconds(); }));
}

std::unique_ptr<StateShard> TransactionCoordinators::make(PartitionIndex partition, LeaderEpoch leader_epoch) {
  MarkerSink& sink = *this;
  return std::make_unique<TransactionCoordinator>(settings_of(parts_.config.transactions), sink,
                                                  CoordinatorReign{partition, leader_epoch}, parts_.memory);
}

void TransactionCoordinators::loaded(StateShard& shard, const CoordinatorTime&, CoordinatorOutcome&) {
  static_cast<TransactionCoordinator&>(shard).set_connections_before_load(parts_.newest_connection());
}

double TransactionCoordinators::oldest_unstable_seconds() const {
  const MonotonicTime now = parts_.seams.clock.now();
  Duration longest{};
  for (const auto& partition : parts_.hosted.all()) {
    const auto since = partition->is_leader() ? partition->unstable_since() : std::nullopt;
    if (since) longest = std::max(longest, now - *since);
  }
  return std::chrono::duration<double>(longest).count();
}

// --- Following the metadata ------------------------------------------------------------------------------------------

Task<void> TransactionCoordinators::follow(MetadataImagePtr image) {
  const auto turn = co_await turns_.enter();
  if (!started_ || stopped_) co_return;
  co_await serve_led_partitions(runtime_, *image, parts_.hosted, parts_.config.node_id);
}

Task<void> TransactionCoordinators::start() {
  {
    const auto turn = co_await turns_.enter();
    started_ = true;
  }
  co_await follow(parts_.metadata.current());
}

Task<void> TransactionCoordinators::stop() {
  const auto turn = co_await turns_.enter();
  stopped_ = true;
  co_await runtime_.stop();
}

BrokerId TransactionCoordinators::coordinator_of(std::string_view transactional_id) const {
  return coordinator_broker(*parts_.metadata.current(), kTransactionsTopic, transactional_id);
}

std::shared_ptr<CoordinatorShard> TransactionCoordinators::shard_of(std::string_view transactional_id) const {
  const auto index = coordinator_index(*parts_.metadata.current(), kTransactionsTopic, transactional_id);
  return index ? runtime_.shard(*index) : nullptr;
}

Task<Result<AddPartitionsAnswer>> TransactionCoordinators::join(AddPartitions request) {
  const MetadataImagePtr image = parts_.metadata.current();
  for (const TopicPartitionName& partition : request.partitions) {
    const TopicMetadata* topic = image->find_topic(partition.topic);
    if (topic != nullptr && topic->partition(partition.partition) != nullptr) continue;
    co_return failure(ErrorCode::coordinator_not_available, "the coordinator has not heard of {}-{} yet",
                      partition.topic, partition.partition);
  }
  const auto shard = shard_of(request.transactional_id);
  if (!shard) co_return failure(ErrorCode::not_coordinator, "this broker does not lead the coordinator's partition");
  const auto asked = std::make_shared<Joining>();
  auto elements = elements_of(request.transactional_id);
  shard->run({.run =
                  [asked, request = std::move(request)](StateShard& state, const CoordinatorTime& time,
                                                        CoordinatorOutcome& outcome) mutable {
                    static_cast<TransactionCoordinator&>(state).add_partitions(
                        std::move(request),
                        [asked](Result<AddPartitionsAnswer> answer) { asked->set(std::move(answer)); }, time, outcome);
                  },
              .refuse = [asked](const Status& reason) { asked->set(failure(reason)); },
              .elements_of_state = std::move(elements)});
  const auto timer = parts_.seams.scheduler.start_timer(parts_.seams.clock.now() + kVerificationPatience,
                                                        [asked] { asked->wakeup.wake(); });
  co_await asked->wakeup.event();
  parts_.seams.scheduler.cancel_timer(timer);
  co_return asked->take();
}

// --- Markers ---------------------------------------------------------------------------------------------------------

std::shared_ptr<CoordinatorShard> TransactionCoordinators::orderer_of(const CoordinatorReign& reign) const {
  auto shard = runtime_.shard(reign.partition);
  return shard && shard->leader_epoch() == reign.leader_epoch ? shard : nullptr;
}

InOffice TransactionCoordinators::in_office(const CoordinatorReign& reign, const MetadataImage& image) const {
  if (orderer_of(reign) == nullptr) return InOffice::no;
  const TopicMetadata* topic = image.find_topic(kTransactionsTopic);
  const PartitionState* partition = topic != nullptr ? topic->partition(reign.partition) : nullptr;
  if (partition == nullptr || partition->leader_epoch < reign.leader_epoch) return InOffice::unclear;
  if (partition->leader_epoch > reign.leader_epoch) return InOffice::no;
  return partition->leader == parts_.config.node_id ? InOffice::yes : InOffice::unclear;
}

void TransactionCoordinators::send(const MarkersWanted& wanted) {
  const CoordinatorReign reign = wanted.coordinator;
  MarkersWritten written{
      .transactional_id = wanted.transactional_id, .producer = wanted.producer, .number = wanted.number};
  sender_.send(wanted,
               {.in_office = [this, reign](const MetadataImage& image) { return in_office(reign, image); },
                .all_written = [this, reign,
                                written = std::move(written)]() mutable { all_written(reign, std::move(written)); }});
}

void TransactionCoordinators::all_written(const CoordinatorReign& reign, MarkersWritten written) const {
  const auto shard = orderer_of(reign);
  if (!shard) return;
  auto elements = elements_of(written.transactional_id);
  shard->run(
      {.run =
           [written = std::move(written)](StateShard& state, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
             static_cast<TransactionCoordinator&>(state).markers_written(written, time, outcome);
           },
       .refuse = [](const Status&) {},  // whoever loads it asks for the markers again
       .is_news = true,
       .elements_of_state = std::move(elements)});
}

}  // namespace naru
