#include "client/record_accumulator.h"

#include <algorithm>

#include "foundation/assert.h"
#include "foundation/endian.h"

namespace naru::client {
namespace {

// Far below what the format could express, far above what a broker takes.
constexpr size_t kRecordSizeMax = 1u << 30;
constexpr size_t kRecordOverhead = 24;  // lengths and deltas, about
constexpr size_t kHeaderOverhead = 8;

}  // namespace

size_t RecordAccumulator::size_of(const NewRecord& record) {
  size_t size = kRecordOverhead + record.key.value_or(BytesView()).size() + record.value.value_or(BytesView()).size();
  for (const RecordHeader& header : record.headers) {
    size += kHeaderOverhead + header.key.size() + header.value.value_or(BytesView()).size();
  }
  return size;
}

Status RecordAccumulator::check(const NewRecord& record) {
  if (const size_t size = size_of(record); size > kRecordSizeMax) {
    return error(ErrorCode::message_too_large, "a record of {} bytes is larger than any batch can be", size);
  }
  if (record.timestamp < kNoTimestamp) {
    return error(ErrorCode::invalid_timestamp, "the timestamp {} is before 1970", record.timestamp);
  }
  return {};
}

bool RecordAccumulator::add(const TopicPartition& partition, const NewRecord& record, MonotonicTime now) {
  const size_t size = size_of(record);
  const auto queue = queues_.try_emplace(partition).first;
  auto& waiting = queue->second.waiting;
  bool full = false;
  if (waiting.empty() || !waiting.back()->builder || waiting.back()->size + size > options_.batch_bytes) {
    full = !waiting.empty();
    auto batch = std::make_unique<ProducerBatch>();
    batch->partition = partition;
    batch->created = now;
    batch->deadline = now + options_.delivery_timeout;
    batch->builder.emplace(BatchOptions{.compression = options_.compression});
    waiting.push_back(std::move(batch));
    ++used_batches_;
  }
  ProducerBatch& batch = *waiting.back();
  batch.builder->add(record);
  batch.size += size;
  ++batch.records;
  used_ += size;
  full = full || batch.size >= options_.batch_bytes;
  if (full || waiting.size() == 1) reschedule(queue);
  return full;
}

// When the first batch of the queue is to be looked at: to be sent, or to be given up.
MonotonicTime RecordAccumulator::due_time(const Queue& queue) const {
  const ProducerBatch& first = *queue.waiting.front();
  const bool ready = flushing_ || !first.builder || queue.waiting.size() > 1 || first.size >= options_.batch_bytes;
  const MonotonicTime sendable = std::max(ready ? first.created : first.created + options_.linger, queue.not_before);
  return std::min(sendable, first.deadline);
}

void RecordAccumulator::reschedule(Queues::iterator position) {
  auto& [partition, queue] = *position;
  std::optional<MonotonicTime> due;
  if (!queue.in_flight && !queue.waiting.empty()) due = due_time(queue);
  if (due == queue.due) return;
  if (queue.due) due_.erase({*queue.due, partition});
  if (due) due_.insert({*due, partition});
  queue.due = due;
}

std::optional<MonotonicTime> RecordAccumulator::next_due() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

RecordAccumulator::Taken RecordAccumulator::take(MonotonicTime now) {
  Taken taken;
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto position = queues_.find(due_.begin()->second);
    Queue& queue = position->second;
    Batch batch = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    queue.in_flight = true;
    reschedule(position);
    if (now >= batch->deadline) {
      taken.expired.push_back(std::move(batch));
    } else {
      prepare(*batch, queue);
      taken.sendable.push_back(std::move(batch));
    }
  }
  return taken;
}

void RecordAccumulator::prepare(ProducerBatch& batch, Queue& queue) {
  if (!batch.builder) return;
  auto bytes = batch.builder->build();
  NARU_ASSERT(bytes.has_value(), "records that were checked make no batch: {}", bytes.error().message());
  batch.bytes = std::move(*bytes);
  batch.builder.reset();
  stamp(batch, queue);
}

void RecordAccumulator::stamp(ProducerBatch& batch, Queue& queue) const {
  if (identity_.id == kNoProducerId) return;
  if (queue.identity != identity_) {
    queue.identity = identity_;
    queue.next_sequence = 0;
  }
  batch.identity = identity_;
  batch.base_sequence = queue.next_sequence;
  // Behind the largest number comes 0.
  queue.next_sequence = static_cast<int32_t>(
      (static_cast<uint32_t>(batch.base_sequence) + static_cast<uint32_t>(batch.records)) & INT32_MAX);
  store_big_endian(batch.bytes.data() + batch_field::kProducerId, identity_.id.value());
  store_big_endian(batch.bytes.data() + batch_field::kProducerEpoch, identity_.epoch.value());
  store_big_endian(batch.bytes.data() + batch_field::kBaseSequence, batch.base_sequence);
  seal_batch(batch.bytes);
}

RecordAccumulator::Queue& RecordAccumulator::landed(const ProducerBatch& batch) {
  Queue& queue = queues_.at(batch.partition);
  NARU_ASSERT(queue.in_flight, "a batch of {} lands that was not in flight", batch.partition.to_string());
  queue.in_flight = false;
  return queue;
}

void RecordAccumulator::forget(const ProducerBatch& batch) {
  used_ -= batch.size;
  if (--used_batches_ == 0) flushing_ = false;
}

void RecordAccumulator::delivered(Batch batch) {
  landed(*batch).not_before = {};
  forget(*batch);
  reschedule(queues_.find(batch->partition));
}

void RecordAccumulator::retry(Batch batch, MonotonicTime not_before) {
  landed(*batch);
  put_back(std::move(batch), not_before);
}

void RecordAccumulator::restamp_and_retry(Batch batch, MonotonicTime not_before) {
  Queue& queue = landed(*batch);
  if (!batch->builder) stamp(*batch, queue);
  put_back(std::move(batch), not_before);
}

void RecordAccumulator::put_back(Batch batch, MonotonicTime not_before) {
  const auto position = queues_.find(batch->partition);
  position->second.not_before = not_before;
  position->second.waiting.push_front(std::move(batch));
  reschedule(position);
}

bool RecordAccumulator::failed(Batch batch, bool may_be_stored) {
  Queue& queue = landed(*batch);
  queue.not_before = {};
  bool identity_is_good = true;
  if (batch->base_sequence >= 0 && batch->identity == queue.identity) {
    // If no broker ever had it, its numbers are free for the next one.
    const bool unknown = may_be_stored || batch->attempts > 1;
    if (!unknown) queue.next_sequence = batch->base_sequence;
    identity_is_good = !unknown || batch->identity != identity_;
  }
  forget(*batch);
  reschedule(queues_.find(batch->partition));
  return identity_is_good;
}

void RecordAccumulator::flush() {
  if (empty()) return;
  flushing_ = true;
  for (auto position = queues_.begin(); position != queues_.end(); ++position) reschedule(position);
}

std::vector<RecordAccumulator::Batch> RecordAccumulator::abandon() {
  std::vector<Batch> abandoned;
  for (auto position = queues_.begin(); position != queues_.end(); ++position) {
    auto& waiting = position->second.waiting;
    for (Batch& batch : waiting) {
      forget(*batch);
      abandoned.push_back(std::move(batch));
    }
    waiting.clear();
    reschedule(position);
  }
  return abandoned;
}

}  // namespace naru::client
