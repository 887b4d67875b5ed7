#include "broker/log_verifier.h"

#include <algorithm>
#include <utility>

#include "foundation/log.h"
#include "replication/partition_verification.h"

namespace naru {
namespace {

// The first round comes soon after the start: a broker that is restarted more often than the interval says would never
// verify anything.
constexpr Duration kFirstRound = 1h;
// Between two looks at damage that nobody else could repair, or that is being repaired.
constexpr Duration kLookAtDamagedAgain = 5s;
// A log that something suspects, and that is whole, is not read again for so long.
constexpr Duration kTrust = 5min;

bool is_on_its_way_out(const Status& status) {
  return status == ErrorCode::unknown_topic_or_partition || status == ErrorCode::shutting_down ||
         status == ErrorCode::log_offline || status == ErrorCode::cancelled;
}

bool is_usable_at(const MetadataImage& image, BrokerId id, const LogId& log) {
  const BrokerMetadata* broker = image.find_broker(id);
  if (broker == nullptr || !image.is_settled(id)) return false;
  const auto told = image.known_broker(id).offline_in(broker->epoch);
  return told == nullptr || !told->partitions.contains({log.topic_id, log.partition});
}

}  // namespace

bool may_hand_over(const MetadataImage& image, const LogId& id, BrokerId self) {
  const TopicMetadata* topic = image.find_topic(id.topic_id);
  const PartitionState* state = topic == nullptr ? nullptr : topic->partition(id.partition);
  if (state == nullptr || std::ranges::find(state->isr, self) == state->isr.end()) return false;
  return std::ranges::any_of(state->isr,
                             [&](BrokerId other) { return other != self && is_usable_at(image, other, id); });
}

LogVerifier::LogVerifier(Parts parts)
    : parts_(std::move(parts)),
      verified_bytes_(parts_.metrics.counter("naru_log_verified_bytes_total",
                                             "Bytes of closed segments that were read again and compared")),
      damaged_segments_(parts_.metrics.counter("naru_log_damaged_segments_total",
                                               "Segments that were found to be damaged on the disk")),
      throttle_(parts_.seams.clock, parts_.seams.scheduler,
                [this] { return parts_.live_config.current()->log_verify_bytes_per_second; }),
      news_(parts_.seams.scheduler),
      damaged_gauge_(parts_.metrics.computed_gauge(
          "naru_log_damaged_partitions",
          "Partitions that are damaged on this broker's disk and not repaired yet; for long only where no other "
          "replica is in sync",
          {}, [this] { return static_cast<double>(damaged().size()); })) {}

void LogVerifier::start() {
  tasks_.spawn(verify_all_for_ever());
  tasks_.spawn(verify_suspects_for_ever());
  tasks_.spawn(look_after_damaged_for_ever());
}

Task<void> LogVerifier::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

void LogVerifier::suspect(const LogId& id) {
  {
    const std::scoped_lock lock(mutex_);
    const auto trusted = whole_until_.find(id);
    if (trusted != whole_until_.end() && trusted->second > parts_.seams.clock.now()) return;
    if (damaged_.contains(id) || !suspects_.insert(id).second) return;
  }
  news_.notify();
}

std::map<LogId, LogDamage> LogVerifier::damaged() const {
  const std::scoped_lock lock(mutex_);
  return damaged_;
}

// --- All, from time to time ------------------------------------------------------------------------------------------

Task<void> LogVerifier::verify_all_for_ever() {
  const CancelToken stopped = tasks_.token();
  co_await to_loop(parts_.seams.scheduler);
  MonotonicTime last = parts_.seams.clock.now();
  Duration longest = kFirstRound;
  while (!stopped.cancelled()) {
    const uint64_t seen = news_.count();
    const auto interval = parts_.live_config.current()->log_verify_interval;
    const auto due = interval ? last + std::min<Duration>(*interval, longest) : MonotonicTime::max();
    if (parts_.seams.clock.now() < due) {
      co_await news_.wait_beyond(seen, due, stopped);
      continue;
    }
    last = parts_.seams.clock.now();
    longest = Duration::max();
    for (const auto& partition : parts_.hosted.all()) {
      if (stopped.cancelled()) co_return;
      co_await verify(partition);
    }
  }
}

Task<void> LogVerifier::verify(PartitionPtr partition) {
  const auto damage = co_await verify_partition(partition, {.scheduler = parts_.seams.scheduler,
                                                            .stopped = tasks_.token(),
                                                            .throttle = throttle_,
                                                            .verified_bytes = verified_bytes_});
  if (!damage) {
    if (is_on_its_way_out(damage.error())) co_return;
    log_error("maintenance",
              "partition {}: closed segments could not be verified: {}; they are tried again with the next round, "
              "check the disk",
              partition->identity().to_string(), damage.error().to_string());
  } else if (*damage) {
    found(*partition, **damage);
  } else {
    forget(partition->id());
  }
}

void LogVerifier::found(const Partition& partition, const LogDamage& damage) {
  const LogId id = partition.id();
  {
    const std::scoped_lock lock(mutex_);
    whole_until_.erase(id);
    const auto [known, is_new] = damaged_.insert_or_assign(id, damage);
    static_cast<void>(known);
    if (!is_new) return;
  }
  damaged_segments_.add();
  const bool repairable = may_hand_over(*parts_.image(), id, parts_.self);
  log_error("maintenance", "partition {}: {}; {}", partition.identity().to_string(), damage.to_string(),
            repairable ? "it is repaired from another in-sync replica"
                       : "no other replica is in sync, so the partition stays online, and reads of this offset are "
                         "refused with CORRUPT_MESSAGE. It is repaired when another replica is in sync; else restore "
                         "the file from a backup while the broker is stopped, or give up the records up to and "
                         "including this batch with DeleteRecords");
  news_.notify();
}

void LogVerifier::forget(const LogId& id) {
  const std::scoped_lock lock(mutex_);
  damaged_.erase(id);
}

// --- What is suspected, and what is known ----------------------------------------------------------------------------

// A log may be large: other damage does not wait for it.
Task<void> LogVerifier::verify_suspects_for_ever() {
  const CancelToken stopped = tasks_.token();
  co_await to_loop(parts_.seams.scheduler);
  while (!stopped.cancelled()) {
    const uint64_t seen = news_.count();
    co_await verify_suspects();
    co_await news_.wait_beyond(seen, MonotonicTime::max(), stopped);
  }
}

Task<void> LogVerifier::look_after_damaged_for_ever() {
  const CancelToken stopped = tasks_.token();
  co_await to_loop(parts_.seams.scheduler);
  while (!stopped.cancelled()) {
    const uint64_t seen = news_.count();
    co_await look_after_damaged();
    const auto next = damaged().empty() ? MonotonicTime::max() : parts_.seams.clock.now() + kLookAtDamagedAgain;
    co_await news_.wait_beyond(seen, next, stopped);
  }
}

std::set<LogId> LogVerifier::take_suspects() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(suspects_, {});
}

Task<void> LogVerifier::verify_suspects() {
  for (const LogId& id : take_suspects()) {
    const HostedPartition hosted = parts_.hosted.find(id.topic_id, id.partition);
    if (!hosted || tasks_.token().cancelled()) continue;
    log_info("maintenance", "partition {}: the log is verified, because something in it seems to be damaged",
             hosted.partition->identity().to_string());
    co_await verify(hosted.partition);
    const MonotonicTime now = parts_.seams.clock.now();
    const std::scoped_lock lock(mutex_);
    std::erase_if(whole_until_, [now](const auto& trusted) { return trusted.second <= now; });
    if (!damaged_.contains(id)) whole_until_.insert_or_assign(id, now + kTrust);
  }
}

Task<void> LogVerifier::look_after_damaged() {
  for (const auto& [id, damage] : damaged()) {
    if (tasks_.token().cancelled()) co_return;
    co_await look_after(id);
  }
}

// It is offline while it is being repaired. If it is there again, or was cut for another reason, what was noted may be
// gone.
Task<void> LogVerifier::look_after(LogId id) {
  if (!parts_.hosted.contains(id.topic_id, id.partition)) co_return forget(id);
  const HostedPartition hosted = parts_.hosted.find(id.topic_id, id.partition);
  if (!hosted || hosted.partition->offline()) co_return;
  const auto noted = co_await hosted.partition->with_log(
      [](const LogAccess& access) -> Result<bool> { return access.log.damage() != nullptr; });
  if (!noted) co_return;
  if (!*noted) {
    forget(id);
    co_return suspect(id);
  }
  const bool reachable = !parts_.contact.lost(parts_.seams.clock.now());
  if (!reachable || !may_hand_over(*parts_.image(), id, parts_.self)) co_return;
  const auto known = damaged();
  const auto found = known.find(id);
  if (found == known.end()) co_return;
  co_await hosted.partition->give_up_damaged(found->second.to_string());
}

}  // namespace naru
