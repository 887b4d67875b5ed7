// What a partition remembers of its idempotent producers: enough to tell the next batch of a producer from a repeated
// one and from one that is missing something.
//
// An I/O-free core. check() judges what a client wants to append; apply() notes what was appended and judges nothing,
// so that followers and recovery arrive at the leader's state by applying the same batches. State is a function of the
// batches applied, their times, the limits and the calls of expire(): no clock in here, and no order by hash.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/record_batch.h"

namespace naru {

// `steps` sequence numbers behind `sequence`. They are 0 .. 2^31-1, and 0 follows the last.
int32_t sequence_after(int32_t sequence, int32_t steps);

// A batch as its repetition is recognised and answered.
struct ProducerBatch {
  int32_t first_sequence = 0;
  int32_t last_offset_delta = 0;
  Offset base_offset;
  WallTimeMs log_append_time_ms = kNoTimestamp;  // as the producer was told: kNoTimestamp with CreateTime

  int32_t last_sequence() const { return sequence_after(first_sequence, last_offset_delta); }
  Offset next_offset() const { return base_offset + last_offset_delta + 1; }
  bool operator==(const ProducerBatch&) const = default;
};

struct Producer {
  static constexpr size_t kWindow = 5;  // as many batches as clients keep in flight

  ProducerId id;
  ProducerEpoch epoch{0};
  uint8_t batch_count = 0;                     // at least 1
  std::array<ProducerBatch, kWindow> batches;  // of this epoch, oldest first
  WallTimeMs last_timestamp = kNoTimestamp;    // the largest of the last batch
  WallTimeMs last_append_ms = 0;               // the broker's clock

  const ProducerBatch& newest() const { return batches[batch_count - 1u]; }
  const ProducerBatch* find(int32_t first_sequence, int32_t last_offset_delta) const;
  void add(const ProducerBatch& batch);
  bool operator==(const Producer&) const;
};

struct ProducerLimits {
  size_t max_producers = 10'000;             // beyond it the one that was idle for longest is forgotten
  int64_t expiration_ms = 24 * 3'600'000LL;  // after its last append; what it stored may be gone long before
};

// What check() found.
struct SequenceCheck {
  Status refused;                          // not ok: invalid_producer_epoch or out_of_order_sequence_number
  std::optional<ProducerBatch> duplicate;  // it is in the log already; answer as then
};

// A value. Thread: the partition's strand.
class ProducerState {
 public:
  // Each producer is held against the memory budget with this much.
  static constexpr size_t kBytesPerProducer = 256;

  explicit ProducerState(const ProducerLimits& limits = {}) : limits_(limits) {}
  ProducerState(ProducerState&&) = default;
  ProducerState& operator=(ProducerState&&) = default;

  // Whether a client may append this batch now. A producer without state may begin anywhere: what was known of it may
  // have expired. Batches without a producer id always pass.
  SequenceCheck check(const BatchHeader& header) const;
  // The batch, with its offsets, is in the log. Gaps in sequences and epochs that go back are taken as they are.
  void apply(const BatchHeader& stored, WallTimeMs now);

  // Forgets producers that have not appended for expiration_ms. Costs what it forgets.
  size_t expire(WallTimeMs now);
  // Forgets the one that was idle for longest, unless it is the only one.
  bool evict_longest_idle();
  // Producers that had to make room since the state was made.
  uint64_t evicted() const { return evicted_; }

  // Appends a producer as the least idle one; what a snapshot says. False: it is there already.
  bool restore(const Producer& producer);

  bool empty() const { return by_idleness_.empty(); }
  size_t size() const { return by_idleness_.size(); }
  const Producer* find(ProducerId id) const;
  // The one that was idle for longest comes first.
  const std::list<Producer>& producers() const { return by_idleness_; }
  bool operator==(const ProducerState& other) const { return by_idleness_ == other.by_idleness_; }

 private:
  void forget_longest_idle();

  ProducerLimits limits_;
  std::list<Producer> by_idleness_;  // by the order of their last appends
  std::unordered_map<ProducerId, std::list<Producer>::iterator> by_id_;
  uint64_t evicted_ = 0;
};

}  // namespace naru
