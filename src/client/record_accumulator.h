// The producer's core: records become batches, batches wait for their turn, and each has one fate. No I/O, no clock.
//
// Order within a partition is kept by having at most one batch of it in flight; a batch that has to be sent again goes
// back to the front, with the same bytes and, for an idempotent producer, the same sequence numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "client/cluster_metadata.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/batch_builder.h"
#include "record_format/transaction_marker.h"

namespace naru::client {

struct AccumulatorOptions {
  Compression compression = Compression::none;
  size_t batch_bytes = 256 * 1024;         // of records, before compression; a larger record is a batch of its own
  size_t buffer_bytes = 32 * 1024 * 1024;  // of records that have no fate yet
  Duration linger = 5ms;                   // how long a batch waits for company
  Duration delivery_timeout = 120s;        // from the first record of a batch to its fate
};

// A batch on its way. Owned by the accumulator while it waits, by the sender while it is in flight.
struct ProducerBatch {
  TopicPartition partition;
  size_t size = 0;  // of its records: what it takes of the buffer
  int32_t records = 0;
  MonotonicTime created;
  MonotonicTime deadline;
  Bytes bytes;       // as sent; empty until it is taken for the first time
  int attempts = 0;  // how often it went out; the sender counts
  Status last_error;
  ProducerIdentity identity;
  int32_t base_sequence = -1;
  std::optional<BatchBuilder> builder;  // until it is taken
};

class RecordAccumulator {
 public:
  using Batch = std::unique_ptr<ProducerBatch>;

  explicit RecordAccumulator(AccumulatorOptions options) : options_(options) {}

  // invalid_argument: a record that no batch can express.
  static Status check(const NewRecord& record);
  static size_t size_of(const NewRecord& record);

  // Whether a record of this size may be added now. An empty buffer takes any.
  bool has_room(size_t size) const { return used_ == 0 || used_ + size <= options_.buffer_bytes; }
  // A record that was checked. True: a batch of the partition became full by it.
  bool add(const TopicPartition& partition, const NewRecord& record, MonotonicTime now);

  struct Taken {
    std::vector<Batch> sendable;
    std::vector<Batch> expired;  // beyond their deadline; for failed()
  };
  // All batches that are due: full, or having waited long enough. They are in flight now.
  Taken take(MonotonicTime now);
  // When take() will next have something; nothing when nothing waits.
  std::optional<MonotonicTime> next_due() const;

  // The fates of a batch in flight.
  void delivered(Batch batch);
  void retry(Batch batch, MonotonicTime not_before);
  // False: after this failure the identity cannot be used any more, because a broker may or may not have the batch and
  // the sequence numbers behind it would tell a wrong story. Set a new one.
  [[nodiscard]] bool failed(Batch batch, bool may_be_stored);
  // Sends it again under the current identity. Only for a batch that no broker can have.
  void restamp_and_retry(Batch batch, MonotonicTime not_before);

  // Batches that are taken for the first time from now on are sent in this name: what InitProducerId gave, or none, and
  // then they carry no sequence numbers.
  void set_identity(ProducerIdentity identity) { identity_ = identity; }
  const ProducerIdentity& identity() const { return identity_; }

  // From now on batches do not wait for company, until empty().
  void flush();
  // Removes what waits; what is in flight comes back through the fates.
  std::vector<Batch> abandon();

  bool empty() const { return used_batches_ == 0; }
  size_t used_bytes() const { return used_; }

 private:
  struct Queue {
    std::deque<Batch> waiting;
    bool in_flight = false;
    MonotonicTime not_before;          // of the first one, after an attempt that failed
    std::optional<MonotonicTime> due;  // as in due_
    ProducerIdentity identity;
    int32_t next_sequence = 0;
  };
  using Queues = std::map<TopicPartition, Queue>;
  using Due = std::pair<MonotonicTime, TopicPartition>;

  MonotonicTime due_time(const Queue& queue) const;
  void reschedule(Queues::iterator queue);
  void prepare(ProducerBatch& batch, Queue& queue);
  void stamp(ProducerBatch& batch, Queue& queue) const;
  Queue& landed(const ProducerBatch& batch);
  void put_back(Batch batch, MonotonicTime not_before);
  void forget(const ProducerBatch& batch);

  const AccumulatorOptions options_;
  Queues queues_;
  std::set<Due> due_;  // one entry per queue that has something to send and nothing in flight
  ProducerIdentity identity_;
  size_t used_ = 0;
  size_t used_batches_ = 0;
  bool flushing_ = false;
};

}  // namespace naru::client
