// The transactions in a ProducerState: opening, ending, what is stable, and who may end what.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "log_storage/producer_state.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr int32_t kLastSequence = std::numeric_limits<int32_t>::max();

struct Written {
  int64_t producer = 1;
  int16_t epoch = 0;
  int32_t sequence = 0;
  int32_t records = 1;
  bool transactional = true;
};

BatchHeader data(const Written& written, Offset base = Offset(0)) {
  BatchHeader header;
  header.base_offset = base;
  header.attributes = written.transactional ? batch_attribute::kTransactional : int16_t{0};
  header.last_offset_delta = written.records - 1;
  header.records_count = written.records;
  header.producer_id = ProducerId(written.producer);
  header.producer_epoch = ProducerEpoch(written.epoch);
  header.base_sequence = written.sequence;
  return header;
}

BatchHeader control(int64_t producer, int16_t epoch, Offset base) {
  BatchHeader header = data({.producer = producer, .epoch = epoch, .sequence = -1}, base);
  header.attributes = batch_attribute::kTransactional | batch_attribute::kControl;
  return header;
}

// A partition in miniature.
class TransactionLog {
 public:
  ErrorCode send(const Written& written, const AppendTerms& terms = {}) {
    const SequenceCheck check = state.check(data(written), terms);
    if (!check.refused.ok()) return check.refused.code();
    was_duplicate = check.duplicate.has_value();
    if (was_duplicate) return ErrorCode::none;
    state.apply(data(written, end), 0);
    end += written.records;
    return ErrorCode::none;
  }
  ErrorCode mark(int64_t producer, int16_t epoch, int16_t version = 1, int32_t coordinator_epoch = 0,
                 TransactionResult result = TransactionResult::commit) {
    const TransactionMarker marker{.result = result, .coordinator_epoch = coordinator_epoch};
    const auto action = state.check_marker({ProducerId(producer), ProducerEpoch(epoch)}, marker, version);
    if (!action) return action.error().code();
    appended_marker = *action == MarkerAction::append;
    if (!appended_marker) return ErrorCode::none;
    last_end = state.apply(control(producer, epoch, end), 0, marker);
    end += 1;
    return ErrorCode::none;
  }

  ProducerState state;
  Offset end{0};
  bool was_duplicate = false;
  bool appended_marker = false;
  std::optional<TransactionEnd> last_end;
};

TEST(ProducerTransactions, TheFirstBatchOpensAndTheMarkerEnds) {
  TransactionLog log;
  ASSERT_EQ(log.send({.records = 3}), ErrorCode::none);
  EXPECT_EQ(log.state.oldest_open(), Offset(0));
  EXPECT_EQ(log.state.last_stable_offset(Offset(3)), Offset(0));
  ASSERT_EQ(log.send({.sequence = 3}), ErrorCode::none);
  ASSERT_EQ(log.mark(1, 0, 1, 0, TransactionResult::abort), ErrorCode::none);
  ASSERT_TRUE(log.last_end.has_value());
  EXPECT_EQ(log.last_end->first_offset, Offset(0));
  EXPECT_EQ(log.last_end->marker_offset, Offset(4));
  EXPECT_EQ(log.last_end->result, TransactionResult::abort);
  EXPECT_EQ(log.state.oldest_open(), kNoOffset);
  EXPECT_EQ(log.send({.sequence = 4}), ErrorCode::none) << "sequences go on through transactions of one epoch";
}

TEST(ProducerTransactions, WhatIsBehindAMarkerIsNotStableBeforeTheMarkerIsCommitted) {
  TransactionLog log;
  ASSERT_EQ(log.send({.producer = 9, .transactional = false}), ErrorCode::none);
  ASSERT_EQ(log.send({}), ErrorCode::none);
  ASSERT_EQ(log.mark(1, 0), ErrorCode::none);
  EXPECT_EQ(log.state.last_stable_offset(Offset(1)), Offset(1));
  EXPECT_EQ(log.state.last_stable_offset(Offset(2)), Offset(1)) << "the records, but not the marker";
  EXPECT_EQ(log.state.last_stable_offset(Offset(3)), Offset(3));
  log.state.committed(Offset(3));
  EXPECT_TRUE(log.state.ended().entries().empty());
}

TEST(ProducerTransactions, TheFlagMustMatchWhileATransactionIsOpen) {
  TransactionLog log;
  ASSERT_EQ(log.send({}), ErrorCode::none);
  EXPECT_EQ(log.send({.sequence = 1, .transactional = false}), ErrorCode::invalid_txn_state);
  EXPECT_EQ(log.send({.epoch = 1}), ErrorCode::invalid_txn_state) << "another epoch never joins it";
  ASSERT_EQ(log.mark(1, 0), ErrorCode::none);
  EXPECT_EQ(log.send({.sequence = 1, .transactional = false}), ErrorCode::none);
}

TEST(ProducerTransactions, OpeningNeedsPermissionAndRepeatingDoesNot) {
  TransactionLog log;
  const AppendTerms no{.may_open = false};
  EXPECT_EQ(log.send({}, no), ErrorCode::invalid_txn_state);
  ASSERT_EQ(log.send({.epoch = 5}), ErrorCode::none);
  EXPECT_EQ(log.send({.epoch = 5, .sequence = 1}, no), ErrorCode::none) << "it is open";
  EXPECT_EQ(log.send({.epoch = 5, .sequence = 1}, no), ErrorCode::none);
  EXPECT_TRUE(log.was_duplicate);
  ASSERT_EQ(log.mark(1, 5), ErrorCode::none);
  EXPECT_EQ(log.send({.epoch = 5, .sequence = 2}, no), ErrorCode::invalid_txn_state);
  EXPECT_EQ(log.send({.epoch = 4, .sequence = 2}, no), ErrorCode::invalid_producer_epoch) << "the epoch comes first";
  EXPECT_EQ(log.send({.epoch = 5, .sequence = 7}, no), ErrorCode::invalid_txn_state) << "before the sequence";
}

// A client that has aborted what was on its way, and counts on from what was acknowledged to it, would be told that a
// new record is there which is not.
TEST(ProducerTransactions, WhatComesAgainAfterItsTransactionHasEndedIsNoRepeat) {
  TransactionLog log;
  ASSERT_EQ(log.send({.sequence = 0}), ErrorCode::none);
  ASSERT_EQ(log.mark(1, 0, 1, 0, TransactionResult::abort), ErrorCode::none);
  EXPECT_EQ(log.send({.sequence = 0}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(log.send({.sequence = 0}, {.may_open = false}), ErrorCode::invalid_txn_state);
  ASSERT_EQ(log.send({.sequence = 1}), ErrorCode::none) << "the next transaction";
  EXPECT_EQ(log.send({.sequence = 0}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(log.send({.sequence = 1}), ErrorCode::none);
  EXPECT_TRUE(log.was_duplicate);
}

TEST(ProducerTransactions, AMarkerFencesOlderEpochs) {
  TransactionLog log;
  ASSERT_EQ(log.send({}), ErrorCode::none);
  ASSERT_EQ(log.mark(1, 1), ErrorCode::none);
  EXPECT_EQ(log.send({.epoch = 0, .sequence = 1}), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(log.send({.epoch = 0, .sequence = 0}), ErrorCode::invalid_producer_epoch) << "its repeat, too";
  EXPECT_EQ(log.send({.epoch = 2, .sequence = 1}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(log.send({.epoch = 1, .sequence = 5}, {.begins_at_zero = true}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(log.send({.epoch = 1, .sequence = 0}, {.begins_at_zero = true}), ErrorCode::none);
}

TEST(ProducerTransactions, WithoutAKnownBatchVersionTwoBeginsAtZeroAndVersionOneAnywhere) {
  TransactionLog log;
  EXPECT_EQ(log.send({.sequence = 5}, {.begins_at_zero = true}), ErrorCode::out_of_order_sequence_number);
  ASSERT_EQ(log.mark(1, 3), ErrorCode::none);
  EXPECT_TRUE(log.appended_marker) << "it fences, although nobody is known";
  EXPECT_EQ(log.send({.epoch = 3, .sequence = 5}, {.begins_at_zero = true}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(log.send({.epoch = 3, .sequence = 5}), ErrorCode::none);
}

TEST(ProducerTransactions, SequencesWrapInsideOfATransaction) {
  TransactionLog log;
  ASSERT_EQ(log.send({.sequence = kLastSequence - 2, .records = 2}), ErrorCode::none);
  ASSERT_EQ(log.mark(1, 0), ErrorCode::none);
  ASSERT_EQ(log.send({.sequence = kLastSequence, .records = 3}), ErrorCode::none);
  EXPECT_EQ(log.send({.sequence = kLastSequence, .records = 3}), ErrorCode::none);
  EXPECT_TRUE(log.was_duplicate) << "across the wrap";
  ASSERT_EQ(log.mark(1, 0), ErrorCode::none);
  EXPECT_EQ(log.send({.sequence = 1}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(log.send({.sequence = 2}), ErrorCode::none);
}

struct MarkerCase {
  const char* what;
  bool open;
  int16_t epoch;  // of the marker; the producer's is 5
  int16_t version;
  int32_t coordinator_epoch;  // the last one was of 7
  ErrorCode error;
  bool appended;
};

TEST(ProducerTransactions, WhoMayEndWhat) {
  const std::vector<MarkerCase> cases{
      {"version 1, the transaction's epoch", true, 5, 1, 7, ErrorCode::none, true},
      {"version 1, a higher epoch", true, 6, 1, 7, ErrorCode::none, true},
      {"version 1, a lower epoch", true, 4, 1, 7, ErrorCode::invalid_producer_epoch, false},
      {"version 1, repeated", false, 5, 1, 7, ErrorCode::none, false},
      {"version 1, nothing to end, but a higher epoch", false, 6, 1, 7, ErrorCode::none, true},
      {"version 1, lower, nothing open", false, 4, 1, 7, ErrorCode::invalid_producer_epoch, false},
      {"version 0 is like 1", true, 5, 0, 7, ErrorCode::none, true},
      {"version 2, higher", true, 6, 2, 7, ErrorCode::none, true},
      {"version 2, the transaction's epoch", true, 5, 2, 7, ErrorCode::invalid_producer_epoch, false},
      {"version 2, repeated", false, 5, 2, 7, ErrorCode::none, false},
      {"version 2, lower", false, 4, 2, 7, ErrorCode::invalid_producer_epoch, false},
      {"an older coordinator", true, 6, 1, 6, ErrorCode::transaction_coordinator_fenced, false},
      {"an older coordinator repeats", false, 5, 1, 6, ErrorCode::transaction_coordinator_fenced, false},
      {"a newer coordinator", true, 6, 2, 8, ErrorCode::none, true},
      {"a newer coordinator repeats", false, 5, 1, 8, ErrorCode::none, true},
      {"a newer coordinator repeats, version 2", false, 5, 2, 8, ErrorCode::none, true},
      {"an older epoch of an older coordinator", true, 4, 1, 6, ErrorCode::invalid_producer_epoch, false},
  };
  for (const MarkerCase& given : cases) {
    TransactionLog log;
    ASSERT_EQ(log.send({.epoch = 5}), ErrorCode::none);
    ASSERT_EQ(log.mark(1, 5, 1, 7), ErrorCode::none);
    if (given.open) ASSERT_EQ(log.send({.epoch = 5, .sequence = 1}), ErrorCode::none);
    log.appended_marker = false;
    EXPECT_EQ(log.mark(1, given.epoch, given.version, given.coordinator_epoch), given.error) << given.what;
    EXPECT_EQ(log.appended_marker, given.appended) << given.what;
  }
}

TEST(ProducerTransactions, RecordsOfACoordinatorHaveNoSequences) {
  TransactionLog log;
  ASSERT_EQ(log.send({.sequence = -1}), ErrorCode::none);
  ASSERT_EQ(log.send({.sequence = -1}), ErrorCode::none);
  EXPECT_FALSE(log.was_duplicate);
  EXPECT_EQ(log.state.oldest_open(), Offset(0));
  EXPECT_EQ(log.state.find(ProducerId(1))->batch_count, 0);
  ASSERT_EQ(log.mark(1, 1, 2), ErrorCode::none);
  EXPECT_EQ(log.send({.epoch = 0, .sequence = -1}), ErrorCode::invalid_producer_epoch);
}

TEST(ProducerTransactions, WhatCompactionHasEmptiedOpensNothing) {
  ProducerState state;
  BatchHeader emptied = data({.sequence = 4, .records = 2});
  emptied.records_count = 0;
  state.apply(emptied, 0);
  EXPECT_EQ(state.oldest_open(), kNoOffset);
  EXPECT_TRUE(state.check(data({.sequence = 4, .records = 2})).duplicate.has_value());
}

TEST(ProducerTransactions, WhoHasAnOpenOneIsNeverForgotten) {
  ProducerState state({.max_producers = 3, .expiration_ms = 100});
  state.apply(data({.producer = 1}, Offset(0)), 0);
  state.apply(data({.producer = 2, .transactional = false}, Offset(1)), 0);
  state.apply(data({.producer = 3}, Offset(2)), 0);
  state.apply(data({.producer = 4, .transactional = false}, Offset(3)), 50);
  EXPECT_EQ(state.find(ProducerId(2)), nullptr) << "made room";
  EXPECT_EQ(state.expire(1000), 1u);
  EXPECT_NE(state.find(ProducerId(1)), nullptr);
  EXPECT_NE(state.find(ProducerId(3)), nullptr);
  state.apply(data({.producer = 5}, Offset(4)), 1000);
  EXPECT_EQ(state.check(data({.producer = 6})).refused.code(), ErrorCode::policy_violation) << "no room is left";
  EXPECT_TRUE(state.check(data({.producer = 5, .sequence = 1})).refused.ok());
  EXPECT_FALSE(state.evict_longest_idle());
  state.apply(control(1, 0, Offset(5)), 1000, TransactionMarker{});
  EXPECT_EQ(state.expire(1099), 0u) << "the marker counts as an append";
  EXPECT_EQ(state.expire(1100), 1u);
  EXPECT_EQ(state.find(ProducerId(1)), nullptr);
}

TEST(EndedTransactions, ManyAreHeldBackTogether) {
  EndedTransactions ended;
  const auto count = static_cast<int64_t>(EndedTransactions::kMax) + 10;
  for (int64_t i = 0; i < count; ++i) ended.add({Offset(2 * i), Offset(2 * i + 1)});
  EXPECT_EQ(ended.entries().size(), EndedTransactions::kMax);
  EXPECT_EQ(ended.first_unstable(Offset(1)), Offset(0)) << "exact, or too low";
  EXPECT_EQ(ended.first_unstable(Offset(2 * count - 1)), Offset(2 * count - 2)) << "the newest are exact";
  ended.committed(Offset(2 * count));
  EXPECT_EQ(ended.first_unstable(Offset(2 * count)), kNoOffset);
}

// Everything that was appended, in a list.
struct ListedBatch {
  BatchHeader header;
  std::optional<TransactionMarker> marker;
};

// Below the answer no transaction is without a marker below the high watermark.
Offset stable_by_brute_force(const std::vector<ListedBatch>& log, Offset high_watermark) {
  std::map<ProducerId, Offset> open;
  for (const ListedBatch& batch : log) {
    if (batch.header.base_offset >= high_watermark) break;
    if (batch.marker) {
      open.erase(batch.header.producer_id);
    } else if (batch.header.is_transactional()) {
      open.try_emplace(batch.header.producer_id, batch.header.base_offset);
    }
  }
  Offset stable = high_watermark;
  for (const auto& [id, first] : open) stable = std::min(stable, first);
  return stable;
}

TEST(ProducerTransactions, WhatIsStableIsWhatAListOfBatchesSays) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SimulatedRandom random(seed);
    ProducerState state;
    std::vector<ListedBatch> log;
    std::map<int64_t, int32_t> sequences;
    Offset end{0};
    Offset high_watermark{0};
    for (int step = 0; step < 300; ++step) {
      const auto producer = static_cast<int64_t>(random.below(4));
      ListedBatch batch;
      if (random.one_in(3)) {
        batch.header = control(producer, 0, end);
        batch.marker = TransactionMarker{.result = static_cast<TransactionResult>(random.below(2))};
      } else {
        const auto records = static_cast<int32_t>(1 + random.below(3));
        const bool open =
            state.find(ProducerId(producer)) != nullptr && state.find(ProducerId(producer))->in_transaction();
        batch.header = data({.producer = producer,
                             .sequence = sequences[producer],
                             .records = records,
                             .transactional = open || !random.one_in(4)},
                            end);
        sequences[producer] += records;
      }
      state.apply(batch.header, 0, batch.marker);
      log.push_back(batch);
      end = batch.header.next_offset();
      if (random.one_in(2)) {
        // At the end of some batch, never backwards.
        const Offset candidate =
            log[log.size() - 1 - random.below(std::min<size_t>(log.size(), 8))].header.next_offset();
        high_watermark = std::max(high_watermark, candidate);
        state.committed(high_watermark);
      }
      ASSERT_EQ(state.last_stable_offset(high_watermark), stable_by_brute_force(log, high_watermark))
          << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace naru
