#include "broker/offline_log_reporter.h"

#include <algorithm>
#include <utility>

#include "foundation/log.h"

namespace naru {
namespace {

constexpr Duration kTryAgain = 500ms;

const PartitionState* state_of(const MetadataImage& image, const Uuid& topic_id, PartitionIndex index) {
  const TopicMetadata* topic = image.find_topic(topic_id);
  return topic == nullptr ? nullptr : topic->partition(index);
}

}  // namespace

OfflineLogReporter::OfflineLogReporter(Parts parts) : parts_(std::move(parts)), news_(parts_.seams.scheduler) {}

void OfflineLogReporter::offline_logs_changed() {
  look_again_ = true;
  any_offline_ = true;
  news_.notify();
}

void OfflineLogReporter::follow_metadata() {
  if (any_offline_) news_.notify();
}

Task<void> OfflineLogReporter::report_for_ever() {
  const CancelToken stopped = background_.token();
  co_await to_loop(parts_.seams.scheduler);
  uint64_t seen = 0;
  MonotonicTime next = MonotonicTime::max();
  for (;;) {
    co_await news_.wait_beyond(seen, next, stopped);
    if (stopped.cancelled()) co_return;
    seen = news_.count();
    const Status status = co_await report_if_needed();
    next = MonotonicTime::max();
    if (status.ok()) continue;
    log_debug("partition", "the controller does not know of {} offline logs yet: {}", offline_.size(),
              status.to_string());
    next = parts_.seams.clock.now() + kTryAgain;
  }
}

Task<Status> OfflineLogReporter::report_if_needed() {
  if (look_again_.exchange(false)) offline_ = parts_.hosted.offline();
  const MetadataImagePtr image = parts_.metadata.current();
  if (!parts_.has_roles(*image)) co_return Status();  // the image that gives them is news, too
  const auto known = image->known_broker(parts_.self).offline_in(parts_.broker_epoch());
  const PartitionIds told = known ? replicated(*image, known->partitions) : PartitionIds();
  const PartitionIds now = replicated(*image, offline_);
  if (now == told && !is_ignored(*image, now)) co_return Status();
  co_return co_await parts_.report(now);
}

PartitionIds OfflineLogReporter::replicated(const MetadataImage& image, const PartitionIds& logs) {
  PartitionIds partitions;
  for (const auto& [topic_id, index] : logs) {
    const PartitionState* state = state_of(image, topic_id, index);
    if (state != nullptr && state->replicas.size() > 1) partitions.emplace(topic_id, index);
  }
  return partitions;
}

bool OfflineLogReporter::is_ignored(const MetadataImage& image, const PartitionIds& partitions) const {
  return std::ranges::any_of(partitions, [&](const auto& id) {
    const PartitionState* state = state_of(image, id.first, id.second);
    if (state->leader == kNoBroker) return false;  // nobody else can
    return std::ranges::find(state->isr, parts_.self) != state->isr.end();
  });
}

Task<void> OfflineLogReporter::stop() {
  background_.cancel();
  return background_.join();
}

}  // namespace naru
