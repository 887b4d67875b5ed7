#include "client/producer.h"

#include <chrono>

#include "client/broker_error.h"
#include "client/produce_request.h"
#include "client/producer_identity.h"
#include "foundation/assert.h"

namespace naru::client {
namespace {

constexpr size_t kRequestBytesMax = 8u << 20;  // more batches than this go into several requests

int64_t in_seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

Producer::Producer(ClusterClient& client, ProducerOptions options, UniqueFunction<void(const Delivery&)> delivered)
    : client_(client),
      options_(options),
      delivered_(std::move(delivered)),
      accumulator_(options.batches),
      identity_(options.idempotent && options.acks == -1 ? Identity::wanted : Identity::settled) {}

Producer::~Producer() {
  NARU_ASSERT(closed_, "a producer is destroyed that was not closed");
}

// ---- taking records

const TopicInfo* Producer::usable_topic(const std::string& topic) const {
  const TopicInfo* known = client_.metadata().find_topic(topic);
  return known != nullptr && known->error == ErrorCode::none && !known->partitions.empty() ? known : nullptr;
}

Task<Result<const TopicInfo*>> Producer::find_topic(const std::string& topic) {
  const MonotonicTime deadline = client_.seams().clock.now() + options_.topic_timeout;
  while (true) {
    const Status refreshed = co_await client_.refresh({topic}, options_.auto_create);
    if (const TopicInfo* known = usable_topic(topic)) co_return known;
    Status problem = refreshed;
    if (refreshed.ok()) {
      const TopicInfo* known = client_.metadata().find_topic(topic);
      const ErrorCode code =
          known == nullptr || known->error == ErrorCode::none ? ErrorCode::leader_not_available : known->error;
      problem = topic_error(code, topic);
    }
    if (!is_retriable(problem.code()) || client_.seams().clock.now() >= deadline) co_return failure(problem);
    co_await client_.back_off();
  }
}

Result<PartitionIndex> Producer::choose_partition(const TopicInfo& topic, std::optional<PartitionIndex> wanted,
                                                  const NewRecord& record) {
  const auto count = static_cast<int32_t>(topic.partitions.size());
  if (wanted) {
    if (wanted->value() >= 0 && wanted->value() < count) return *wanted;
    return failure(ErrorCode::unknown_topic_or_partition, "topic {} has no partition {}: it has 0 to {}", topic.name,
                   *wanted, count - 1);
  }
  if (record.key) return partition_of_key(*record.key, count);
  return topics_[topic.name].choose(count, client_.seams().random);
}

Task<Status> Producer::send(std::string topic, std::optional<PartitionIndex> partition, NewRecord record) {
  NARU_CO_TRY(RecordAccumulator::check(record));
  const size_t size = RecordAccumulator::size_of(record);
  while (!closed_ && !accumulator_.has_room(size)) {
    OneShot<> room;
    waiting_for_room_.push_back(&room);
    co_await room;
  }
  const TopicInfo* known = usable_topic(topic);
  if (known == nullptr) {
    NARU_CO_TRY_ASSIGN(known, co_await find_topic(topic));
  }
  if (closed_) co_return error(ErrorCode::cancelled, "the producer is closed");
  NARU_CO_TRY_ASSIGN(const PartitionIndex index, choose_partition(*known, partition, record));
  const bool full = accumulator_.add({topic, index}, record, client_.seams().clock.now());
  if (full && !partition && !record.key) topics_[topic].batch_is_full();
  if (full) {
    pump();
  } else {
    arm_timer();
  }
  co_return Status();
}

Task<void> Producer::flush() {
  accumulator_.flush();
  pump();
  if (accumulator_.empty()) co_return;
  OneShot<> empty;
  waiting_for_flush_.push_back(&empty);
  co_await empty;
}

Task<void> Producer::close() {
  closed_ = true;
  if (timer_) client_.seams().scheduler.cancel_timer(timer_->second);
  for (const Batch& batch : accumulator_.abandon()) {
    report(*batch, kNoOffset, error(ErrorCode::cancelled, "{}: given up", batch->partition.to_string()));
  }
  wake_waiters();
  co_await tasks_.join();
}

// ---- the name under which batches are sent

bool Producer::has_identity() {
  if (identity_ == Identity::wanted && !accumulator_.empty()) {
    identity_ = Identity::asked_for;
    tasks_.spawn(obtain_identity());
  }
  return identity_ == Identity::settled;
}

Task<void> Producer::obtain_identity() {
  const MonotonicTime deadline = client_.seams().clock.now() + options_.batches.delivery_timeout;
  auto given = co_await ask_for_identity(client_);
  while (!given && is_retriable(given.error().code()) && !closed_ && client_.seams().clock.now() < deadline) {
    co_await client_.back_off();
    given = co_await ask_for_identity(client_);
  }
  if (!given) {
    identity_ = Identity::wanted;
    give_up(given.error());
    co_return;
  }
  accumulator_.set_identity(*given);
  identity_ = Identity::settled;
  for (Batch& batch : std::exchange(nameless_, {})) {
    accumulator_.restamp_and_retry(std::move(batch), client_.seams().clock.now() + client_.options().retry_backoff);
  }
  pump();
}

// Without an identity nothing can be sent, and whoever waits has waited long enough.
void Producer::give_up(const Status& status) {
  for (const Batch& batch : accumulator_.abandon()) report(*batch, kNoOffset, status);
  for (Batch& batch : std::exchange(nameless_, {})) fail(std::move(batch), status);
  wake_waiters();
}

// ---- sending batches

void Producer::arm_timer() {
  const auto due = accumulator_.next_due();
  if (!due || closed_ || (timer_ && timer_->first <= *due)) return;
  if (timer_) client_.seams().scheduler.cancel_timer(timer_->second);
  timer_.emplace(*due, client_.seams().scheduler.start_timer(*due, [this] {
    timer_.reset();
    pump();
  }));
}

// Batches may find their fate while they are sent, and then this is called again from inside: the outer call goes on.
void Producer::pump() {
  if (closed_ || pumping_ || !has_identity()) return;
  pumping_ = true;
  while (has_identity()) {
    auto taken = accumulator_.take(client_.seams().clock.now());
    if (taken.sendable.empty() && taken.expired.empty()) break;
    for (Batch& batch : taken.expired) {
      Status late = error(ErrorCode::request_timed_out, "{}: not delivered within {} s{}{}",
                          batch->partition.to_string(), in_seconds(options_.batches.delivery_timeout),
                          batch->last_error.ok() ? "" : "; at last: ", batch->last_error.message());
      fail(std::move(batch), std::move(late));
    }
    route(std::move(taken.sendable));
  }
  pumping_ = false;
  arm_timer();
}

void Producer::route(Batches batches) {
  struct Group {
    Batches batches;
    size_t bytes = 0;
  };
  std::map<BrokerId, Group> groups;
  for (Batch& batch : batches) {
    topics_[batch->partition.topic].batch_is_full();
    const PartitionInfo* partition = client_.metadata().find_partition(batch->partition);
    if (partition == nullptr || partition->is_offline()) {
      const std::string name = batch->partition.to_string();
      send_again(std::move(batch), broker_error(ErrorCode::leader_not_available, name));
      continue;
    }
    const BrokerId leader = partition->leader;
    Group& group = groups[leader];
    group.bytes += batch->bytes.size();
    group.batches.push_back(std::move(batch));
    if (group.bytes >= kRequestBytesMax) tasks_.spawn(send_request(leader, std::exchange(group, {}).batches));
  }
  for (auto& [leader, group] : groups) {
    if (!group.batches.empty()) tasks_.spawn(send_request(leader, std::move(group.batches)));
  }
}

Task<void> Producer::send_request(BrokerId leader, Batches batches) {
  const auto connection = co_await client_.broker(leader);
  if (!connection) {
    settle_all(std::move(batches), connection.error());
    co_return;
  }
  for (const Batch& batch : batches) ++batch->attempts;
  if (options_.acks == 0) {
    const Status sent = send_without_answer(**connection, batches);
    settle_all(std::move(batches), sent);
    co_return;
  }
  const auto results = co_await send_batches(**connection, batches, options_.acks, client_.options().request_timeout);
  if (!results) {
    settle_all(std::move(batches), results.error());
    co_return;
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    settle(std::move(batches[i]), (*results)[i].status, (*results)[i].base_offset);
  }
}

Task<void> Producer::refresh_metadata() {
  std::vector<std::string> topics;
  for (const auto& [topic, partitioner] : topics_) topics.push_back(topic);
  co_await client_.back_off();  // whoever asks has just been told something old
  ignore(co_await client_.refresh(std::move(topics)));
  refreshing_ = false;
}

// ---- fates

void Producer::settle_all(Batches batches, const Status& status) {
  for (Batch& batch : batches) settle(std::move(batch), status, kNoOffset);
}

void Producer::settle(Batch batch, const Status& status, Offset base_offset) {
  // A duplicate is stored, which is what was wanted.
  if (status.ok() || status == ErrorCode::duplicate_sequence_number) {
    succeed(std::move(batch), base_offset);
  } else if (is_refused_by_name(*batch, status.code()) && !closed_) {
    batch->attempts = 0;
    batch->last_error = status;
    nameless_.push_back(std::move(batch));
    renew_identity();
  } else if (is_retriable(status.code()) && !closed_) {
    send_again(std::move(batch), status);
  } else {
    fail(std::move(batch), status);
  }
  pump();
}

// The broker has lost what it knew about us, or never knew. A batch that it refuses at the first attempt is nowhere,
// and may be sent under new numbers; after several attempts one of them may have been stored under the old ones.
bool Producer::is_refused_by_name(const ProducerBatch& batch, ErrorCode code) const {
  return batch.base_sequence >= 0 && batch.attempts == 1 &&
         (code == ErrorCode::out_of_order_sequence_number || code == ErrorCode::unknown_producer_id ||
          code == ErrorCode::invalid_producer_epoch);
}

void Producer::succeed(Batch batch, Offset base_offset) {
  report(*batch, base_offset, {});
  accumulator_.delivered(std::move(batch));
  wake_waiters();
}

void Producer::send_again(Batch batch, const Status& status) {
  batch->last_error = status;
  if (needs_new_metadata(status.code()) && !refreshing_ && !closed_) {
    refreshing_ = true;
    tasks_.spawn(refresh_metadata());
  }
  accumulator_.retry(std::move(batch), client_.seams().clock.now() + client_.options().retry_backoff);
}

void Producer::fail(Batch batch, Status status) {
  const bool may_be_stored = batch->attempts > 0 && may_have_happened(status.code());
  report(*batch, kNoOffset, std::move(status));
  if (!accumulator_.failed(std::move(batch), may_be_stored)) renew_identity();
  wake_waiters();
}

void Producer::report(const ProducerBatch& batch, Offset base_offset, Status status) {
  delivered_({.partition = batch.partition,
              .base_offset = base_offset,
              .records = batch.records,
              .bytes = batch.size,
              .took = client_.seams().clock.now() - batch.created,
              .status = std::move(status)});
}

// Later, from the loop: whoever waited may go on to close this producer.
void Producer::wake_waiters() {
  const auto wake = [this](std::deque<OneShot<>*>& waiters) {
    for (OneShot<>* waiter : std::exchange(waiters, {})) {
      client_.seams().scheduler.post([waiter] { waiter->set(); });
    }
  };
  wake(waiting_for_room_);
  if (accumulator_.empty()) wake(waiting_for_flush_);
}

}  // namespace naru::client
