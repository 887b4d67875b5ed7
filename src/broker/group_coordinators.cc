#include "broker/group_coordinators.h"

#include <algorithm>
#include <map>

#include "broker/coordinator_topic.h"
#include "broker/group_metadata.h"
#include "cluster_control/internal_topics.h"
#include "foundation/log.h"

namespace naru {
namespace {

// How old the metrics of groups may be.
constexpr Duration kLagInterval = 10s;

bool topic_of_today(const MetadataImage& image, std::string_view name, const CommittedOffset& committed) {
  const TopicMetadata* topic = image.find_topic(name);
  return topic != nullptr && committed.belongs_to(topic->id);
}

// Only which topics exist: nothing expires by it but what belongs to topics that are gone.
// The image has to be the newest when the shard is asked: offsets are committed for the topics of the newest one.
class KnownTopics final : public UnreadRecords {
 public:
  explicit KnownTopics(MetadataImagePtr image) : image_(std::move(image)) {}
  bool has_unread(const GroupPartition&, const CommittedOffset&) const override { return true; }
  bool topic_exists(std::string_view name, const CommittedOffset& committed) const override {
    return topic_of_today(*image_, name, committed);
  }

 private:
  const MetadataImagePtr image_;
};

// Where the logs on this broker began and ended a moment ago.
using LogEnds = std::map<TopicIdPartition, std::pair<Offset, Offset>>;

class KnownEnds final : public UnreadRecords {
 public:
  KnownEnds(MetadataImagePtr image, const LogEnds& ends) : image_(std::move(image)), ends_(ends) {}

  bool has_unread(const GroupPartition& partition, const CommittedOffset& committed) const override {
    const TopicMetadata* topic = image_->find_topic(partition.topic);
    const auto found = topic != nullptr ? ends_.find({topic->id, partition.partition}) : ends_.end();
    if (found == ends_.end()) return true;
    const auto [start, end] = found->second;
    return std::max(start, committed.offset) < end;
  }
  bool topic_exists(std::string_view name, const CommittedOffset& committed) const override {
    return topic_of_today(*image_, name, committed);
  }

 private:
  const MetadataImagePtr image_;
  const LogEnds& ends_;
};

}  // namespace

GroupCoordinators::GroupCoordinators(Seams seams, const BrokerConfig& config, const HostedPartitions& hosted,
                                     const MetadataPublisher& metadata, MetricsRegistry& metrics, MemoryBudget* memory)
    : seams_(seams),
      config_(config),
      hosted_(hosted),
      metadata_(metadata),
      memory_(memory),
      runtime_(std::string(kOffsetsTopic), *this, {seams.clock, seams.scheduler, metrics}),
      lag_(hosted, seams.clock, seams.scheduler, metrics) {}

std::unique_ptr<StateShard> GroupCoordinators::make(PartitionIndex, LeaderEpoch) {
  return std::make_unique<GroupCoordinator>(group_settings(config_, *metadata_.current()), memory_);
}

// What was told to others while it was being loaded; and topics may have gone while nobody was there to see it.
void GroupCoordinators::loaded(StateShard& shard, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  auto& groups = static_cast<GroupCoordinator&>(shard);
  groups.set_settings(group_settings(config_, *metadata_.current()));
  groups.metadata_changed(topics_.load(), time, outcome);
  groups.expire_offsets(KnownTopics(metadata_.current()), time, outcome);
}

// --- Following the metadata ------------------------------------------------------------------------------------------

Task<void> GroupCoordinators::follow(MetadataImagePtr image) {
  const auto turn = co_await turns_.enter();
  if (!started_ || stopped_) co_return;
  if (image->topics().size() > kTopicsOnLoop) co_await to_worker(seams_.scheduler);
  const TopicNews news = topic_news(*followed_, *image);
  // Before the shards are told: one that is being loaded takes what it finds when that is done.
  if (news.others) topics_.store(subscribable_topics(*image));
  co_await serve_led_partitions(runtime_, *image, hosted_, config_.node_id);
  if (!news.gone.empty()) tell_deleted_topics(news.gone);
  if (news.others) tell_topics();
  if (image->group_configs() != followed_->group_configs()) tell_settings(*image);
  followed_ = std::move(image);
}

void GroupCoordinators::tell_topics() {
  const auto topics = topics_.load();
  tell_shards(
      [topics]() -> News {
        return [sweep = TopicsSweep{.topics = topics}](GroupCoordinator& groups, const CoordinatorTime& time,
                                                       CoordinatorOutcome& outcome) mutable {
          return groups.metadata_changed(sweep, time, outcome);
        };
      },
      topics->by_name().size());
}

void GroupCoordinators::tell_settings(const MetadataImage& image) {
  const GroupSettings settings = group_settings(config_, image);
  tell_shards(
      [settings]() -> News {
        return [settings](GroupCoordinator& groups, const CoordinatorTime&, CoordinatorOutcome&) {
          groups.set_settings(settings);
          return false;
        };
      },
      settings.consumer.timeouts_of_groups.size());
}

void GroupCoordinators::tell_deleted_topics(const std::vector<FormerTopic>& gone) {
  // A shard that is being loaded looks for topics that are gone when that is done.
  tell_shards(
      [&gone]() -> News {
        return [removal = TopicRemoval(gone)](GroupCoordinator& groups, const CoordinatorTime& time,
                                              CoordinatorOutcome& outcome) mutable {
          return groups.topics_deleted(removal, time, outcome);
        };
      },
      gone.size());
}

void GroupCoordinators::tell_shards(const std::function<News()>& make_news, size_t elements) {
  for (const auto& shard : runtime_.shards()) tell(seams_.scheduler, shard, make_news(), elements);
}

// A step at a time, the next when what this one has decided is committed: requests come between them, and no more than
// a step waits for a slow disk. A shard that is loaded meanwhile finds out by itself.
void GroupCoordinators::tell(Scheduler& scheduler, const std::shared_ptr<CoordinatorShard>& shard, News news,
                             size_t elements) {
  auto step = [&scheduler, shard, news = std::move(news), elements](StateShard& state, const CoordinatorTime& time,
                                                                    CoordinatorOutcome& outcome) mutable {
    if (!news(static_cast<GroupCoordinator&>(state), time, outcome)) return;
    outcome.replies.push_back([&scheduler, shard, news = std::move(news), elements](const Status& committed) mutable {
      if (!committed.ok()) return;
      scheduler.post([&scheduler, shard, news = std::move(news), elements]() mutable {
        tell(scheduler, shard, std::move(news), elements);
      });
    });
  };
  shard->run({.run = std::move(step), .refuse = [](const Status&) {}, .is_news = true, .elements = elements});
}

// --- Life -----------------------------------------------------------------------------------------------------------

Task<void> GroupCoordinators::start() {
  {
    const auto turn = co_await turns_.enter();
    started_ = true;
  }
  co_await follow(metadata_.current());
  background_.spawn(expire_offsets_from_time_to_time());
  background_.spawn(measure_lag_from_time_to_time());
}

Task<void> GroupCoordinators::stop() {
  background_.cancel();
  {
    const auto turn = co_await turns_.enter();
    stopped_ = true;
    co_await runtime_.stop();
  }
  // Last: what runs in the background may wait for the answer of a shard whose followers never come.
  co_await background_.join();
}

// --- Expiry ----------------------------------------------------------------------------------------------------------

Task<void> GroupCoordinators::expire_offsets_from_time_to_time() {
  const CancelToken stopped = background_.token();
  for (;;) {
    const auto next = seams_.clock.now() + config_.groups.offsets_retention_check_interval;
    const Status slept = co_await sleep_until(seams_.scheduler, next, stopped);
    if (!slept.ok()) co_return;
    co_await expire_offsets();
  }
}

Task<void> GroupCoordinators::measure_lag_from_time_to_time() {
  const CancelToken stopped = background_.token();
  for (;;) {
    const Status slept = co_await sleep_until(seams_.scheduler, seams_.clock.now() + kLagInterval, stopped);
    if (!slept.ok()) co_return;
    co_await lag_.measure(runtime_);
  }
}

Task<void> GroupCoordinators::expire_offsets() {
  if (runtime_.shards().empty()) co_return;
  co_await to_worker(seams_.scheduler);  // thousands of partitions take a while
  const auto ends = std::make_shared<LogEnds>();
  for (const auto& partition : hosted_.all()) {
    const PartitionView view = co_await partition->look(kNoLeaderEpoch);
    const PartitionIdentity& identity = partition->identity();
    if (view.status.ok())
      ends->insert_or_assign({identity.topic_id, identity.index},
                             std::pair(view.log_start_offset, view.high_watermark));
  }
  tell_shards(
      [this, ends]() -> News {
        return [this, ends, expiry = GroupExpiry()](GroupCoordinator& groups, const CoordinatorTime& time,
                                                    CoordinatorOutcome& outcome) mutable {
          return groups.expire_offsets(expiry, KnownEnds(metadata_.current(), *ends), time, outcome);
        };
      },
      0);
}

// --- Who coordinates what --------------------------------------------------------------------------------------------

StepSize GroupCoordinators::step_size(std::string_view group_id, const GroupStepSize& size) {
  if (!size.whole_group) return {.elements = size.elements, .of_state = {}};
  return {.elements = size.elements,
          .of_state = [id = std::string(group_id), assigns = size.assigns](const StateShard& state) {
            return static_cast<const GroupCoordinator&>(state).elements_of(id, assigns);
          }};
}

std::optional<PartitionIndex> GroupCoordinators::partition_of(std::string_view group_id) const {
  return coordinator_index(*metadata_.current(), kOffsetsTopic, group_id);
}

BrokerId GroupCoordinators::coordinator_of(std::string_view group_id) const {
  return coordinator_broker(*metadata_.current(), kOffsetsTopic, group_id);
}

std::shared_ptr<CoordinatorShard> GroupCoordinators::shard_of(std::string_view group_id) const {
  const auto index = partition_of(group_id);
  return index ? runtime_.shard(*index) : nullptr;
}

}  // namespace naru
