// The coordinator of all transactional ids whose names fall on one partition of __transaction_state.
//
//     Empty -> Ongoing -> PrepareCommit | PrepareAbort -> (all markers written) -> CompleteCommit | CompleteAbort
//                 ^                                                                              |
//                 +------------------------------------------------------------------------------+
//
// Every arrow is one record. A decision (Prepare*) is committed before any marker is asked for, and is never taken
// back: whoever loads the shard asks for the markers again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator_runtime/coordinator_outcome.h"
#include "coordinator_runtime/state_shard.h"
#include "observability/state_memory.h"
#include "timing_wheel/timing_wheel.h"
#include "transactions/transaction_messages.h"
#include "transactions/transaction_records.h"
#include "transactions/transaction_rules.h"
#include "transactions/transaction_settings.h"

namespace naru {

// Who writes the markers. The same ones may be asked for again: after the shard was loaded anew.
// Thread: the shard's strand. It only takes note and returns.
class MarkerSink {
 public:
  virtual ~MarkerSink() = default;
  virtual void send(const MarkersWanted& wanted) = 0;
};

// Every function answers its reply exactly once: through the outcome, at once or when the transaction that is in the
// way has ended (asks are parked for a bounded time), or with the reason of unload(). Thread: the shard's strand.
// Between construction and loaded() only apply() is called.
class TransactionCoordinator final : public StateShard {
 public:
  // The sink outlives it, and everything that it has put into outcomes.
  // `memory`: where transactions are counted, if anywhere; outlives it, too.
  TransactionCoordinator(const TransactionSettings& settings, MarkerSink& sink, CoordinatorReign reign = {},
                         MemoryBudget* memory = nullptr);

  // Holds for what comes afterwards; timers that run already keep their deadlines.
  void set_settings(const TransactionSettings& settings);
  // Connections up to this one were accepted before the shard was loaded: what version 1 sends on them, and every
  // InitProducer, may have been overtaken while another coordinator was in office. Once, after loaded().
  void set_connections_before_load(uint64_t newest);

  // StateShard
  Status apply(BytesView key, std::optional<BytesView> value) override;
  void loaded(const CoordinatorTime& time) override;
  void on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome) override;
  std::optional<MonotonicTime> next_deadline() const override;
  void unload(const Status& reason) override;

  // Producers, and leaders on behalf of them.
  void init_producer(InitProducer request, Reply<InitProducerAnswer> reply, const CoordinatorTime& time,
                     CoordinatorOutcome& outcome);
  void add_partitions(AddPartitions request, Reply<AddPartitionsAnswer> reply, const CoordinatorTime& time,
                      CoordinatorOutcome& outcome);
  void end(EndTransaction request, Reply<EndTransactionAnswer> reply, const CoordinatorTime& time,
           CoordinatorOutcome& outcome);

  // From the sink. About another transaction than the one whose markers are wanted: nothing happens.
  void markers_written(const MarkersWritten& written, const CoordinatorTime& time, CoordinatorOutcome& outcome);

  // Administration. Ids are listed by name.
  void describe(std::string transactional_id, Reply<DescribedTransaction> reply, const CoordinatorTime& time,
                CoordinatorOutcome& outcome);
  void list(ListTransactions request, Reply<std::vector<ListedTransaction>> reply, const CoordinatorTime& time,
            CoordinatorOutcome& outcome);

  // How many the transaction has.
  size_t partitions_of(std::string_view transactional_id) const;
  size_t elements() const override { return stored_.size() + timers_.size(); }

  // All that records have said so far: a shard that has applied the same records has the same.
  const DurableTransactions& durable_state() const { return stored_; }

 private:
  void count_memory(size_t before, size_t after);
  struct Timer {
    enum class Kind : uint8_t {
      timeout,   // of the transaction that is open
      parked,    // an ask has waited for long enough
      complete,  // a transaction is to end that has no partitions
      expiry,    // of ids that nobody uses
    };
    Kind kind;
    std::string transactional_id;
    uint64_t ticket = 0;  // of the parked ask
  };
  using Timers = TimingWheel<Timer>;
  template <class Request, class Answer>
  struct Ask {
    Request request;
    Reply<Answer> reply;
  };
  using InitAsk = Ask<InitProducer, InitProducerAnswer>;
  using AddAsk = Ask<AddPartitions, AddPartitionsAnswer>;
  struct Parked {
    uint64_t ticket;
    Timers::Handle timer;
    std::variant<InitAsk, AddAsk> ask;
  };
  // What is not in records.
  struct Live {
    uint64_t newest_connection = 0;  // on which the producer was heard; 0: not since the shard was loaded
    std::optional<Timers::Handle> timeout;
    std::vector<Parked> parked;
  };
  // What becomes of the producer whose transaction is aborted.
  enum class AbortedFor : uint8_t {
    itself,     // it wants to begin anew
    successor,  // it is fenced for ever
    too_slow,   // it may come back, but not commit
  };

  const StoredTransaction* find(std::string_view transactional_id) const;
  // Decided just now: applied, put into the outcome, and timers follow.
  void change(const std::string& transactional_id, StoredTransaction to, const CoordinatorTime& time,
              CoordinatorOutcome& outcome);
  void forget(const std::string& transactional_id, CoordinatorOutcome& outcome);
  void begin_abort(const std::string& transactional_id, AbortedFor whom, const CoordinatorTime& time,
                   CoordinatorOutcome& outcome);
  // The transaction is in a state Prepare*; its markers are asked for when that is committed.
  void want_markers(const std::string& transactional_id, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void complete(const std::string& transactional_id, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void arm_timeout(const std::string& transactional_id, const StoredTransaction& transaction,
                   const CoordinatorTime& time);
  void expire_timer(const Timer& timer, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void expire_ids(const CoordinatorTime& time, CoordinatorOutcome& outcome);
  // True: that was on a connection which the producer has left, as far as anybody knows.
  bool is_late(const std::string& transactional_id, uint64_t connection) const;
  void heard_on(const std::string& transactional_id, uint64_t connection);

  // transaction_parking.cc
  void park(InitAsk ask, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void park(AddAsk ask, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  bool can_park(const std::string& transactional_id) const;
  void keep_parked(const std::string& transactional_id, std::variant<InitAsk, AddAsk> ask, const CoordinatorTime& time);
  void resume_parked(const std::string& transactional_id, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void send_back(const Timer& timer, CoordinatorOutcome& outcome);

  // transaction_asks.cc
  InitProducerAnswer init_new(const InitProducer& request, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  InitProducerAnswer init_idle(const StoredTransaction& stored, const InitProducer& request,
                               const CoordinatorTime& time, CoordinatorOutcome& outcome);
  ErrorCode add_all(const AddPartitions& request, const StoredTransaction& stored, const CoordinatorTime& time,
                    CoordinatorOutcome& outcome);
  EndTransactionAnswer end_decided(const StoredTransaction& stored, const EndTransaction& request, EndVerdict verdict,
                                   const CoordinatorTime& time, CoordinatorOutcome& outcome);

  TransactionSettings settings_;
  MarkerSink& sink_;
  const CoordinatorReign reign_;
  DurableTransactions stored_;
  size_t stored_bytes_ = 0;
  StateMemory memory_;
  std::map<std::string, Live, std::less<>> live_;  // of ids in stored_
  Timers timers_{MonotonicTime{}};
  CoordinatorTime loaded_at_;
  uint64_t connections_before_load_ = 0;
  uint64_t next_ticket_ = 1;
  bool has_warned_of_unknown_records_ = false;
};

}  // namespace naru
