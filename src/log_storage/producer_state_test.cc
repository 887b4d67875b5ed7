#include "log_storage/producer_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "foundation/canary_testing.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr int32_t kMaxSequence = std::numeric_limits<int32_t>::max();
constexpr ProducerId kProducer{7};

struct Sent {
  int32_t sequence = 0;
  int32_t records = 1;
  int16_t epoch = 0;
  ProducerId id = kProducer;
};

BatchHeader header(const Sent& sent, Offset base = Offset(0)) {
  BatchHeader header;
  header.base_offset = base;
  header.last_offset_delta = sent.records - 1;
  header.records_count = sent.records;
  header.max_timestamp = 1000 + base.value();
  header.producer_id = sent.id;
  header.producer_epoch = ProducerEpoch(sent.epoch);
  header.base_sequence = sent.sequence;
  return header;
}

// A partition in miniature: appends what passes the check.
class Appender {
 public:
  explicit Appender(ProducerLimits limits = {}) : state(limits) {}

  // The offset at which the batch is, now or since earlier; or why not.
  Result<Offset> send(const Sent& sent, WallTimeMs now = 0) {
    const SequenceCheck check = state.check(header(sent));
    if (!check.refused.ok()) return failure(check.refused);
    if (check.duplicate) return check.duplicate->base_offset;
    const Offset base = end;
    state.apply(header(sent, base), now);
    end += sent.records;
    return base;
  }
  ErrorCode error_of(const Sent& sent) {
    const auto result = send(sent);
    return result ? ErrorCode::none : result.error().code();
  }

  ProducerState state;
  Offset end{0};
};

TEST(ProducerState, TakesExactlyTheNextSequence) {
  Appender log;
  EXPECT_EQ(*log.send({.sequence = 0, .records = 3}), Offset(0));
  EXPECT_EQ(*log.send({.sequence = 3, .records = 2}), Offset(3));
  EXPECT_EQ(log.error_of({.sequence = 6}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(log.error_of({.sequence = 4}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(*log.send({.sequence = 5}), Offset(5));
}

TEST(ProducerState, AnUnknownProducerMayBeginAnywhere) {
  Appender log;
  EXPECT_EQ(*log.send({.sequence = 1234, .records = 2, .epoch = 5}), Offset(0));
  EXPECT_EQ(log.error_of({.sequence = 0, .epoch = 5}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(*log.send({.sequence = 1236, .epoch = 5}), Offset(2));
}

TEST(ProducerState, BatchesWithoutAProducerAlwaysPassAndLeaveNoTrace) {
  Appender log;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(log.send({.sequence = -1, .epoch = -1, .id = kNoProducerId}));
  EXPECT_TRUE(log.state.empty());
}

TEST(ProducerState, ARepeatOfAnyOfTheLastFiveIsAnsweredWithItsOffset) {
  Appender log;
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(log.send({.sequence = 2 * i, .records = 2}));
  for (int i = 2; i < 7; ++i) EXPECT_EQ(*log.send({.sequence = 2 * i, .records = 2}), Offset(2 * i)) << i;
  EXPECT_EQ(log.end, Offset(14)) << "nothing was appended";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(log.error_of({.sequence = 2 * i, .records = 2}), ErrorCode::out_of_order_sequence_number) << i;
  }
  EXPECT_EQ(log.error_of({.sequence = 12, .records = 1}), ErrorCode::out_of_order_sequence_number)
      << "begins as one of them, and is another batch";
  EXPECT_EQ(log.error_of({.sequence = 12, .records = 3}), ErrorCode::out_of_order_sequence_number);
}

TEST(ProducerState, ARepeatIsToldTheOriginalsAppendTimeIfThatWasTold) {
  ProducerState state;
  BatchHeader by_log = header({.sequence = 0}, Offset(0));
  by_log.attributes = batch_attribute::kLogAppendTime;
  state.apply(by_log, 50);
  state.apply(header({.sequence = 1}, Offset(1)), 60);
  EXPECT_EQ(state.check(header({.sequence = 0})).duplicate->log_append_time_ms, 1000);
  EXPECT_EQ(state.check(header({.sequence = 1})).duplicate->log_append_time_ms, kNoTimestamp);
}

TEST(ProducerState, SequencesWrapFromTheLargestToZero) {
  Appender log;
  ASSERT_TRUE(log.send({.sequence = kMaxSequence - 2, .records = 2}));
  ASSERT_TRUE(log.send({.sequence = kMaxSequence, .records = 4}));  // the largest, 0, 1, 2
  EXPECT_EQ(log.error_of({.sequence = 0}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(*log.send({.sequence = 3, .records = 1}), Offset(6));
  EXPECT_EQ(*log.send({.sequence = kMaxSequence, .records = 4}), Offset(2)) << "a repeat across the wrap";

  Appender exact;
  ASSERT_TRUE(exact.send({.sequence = kMaxSequence - 1, .records = 2}));
  EXPECT_EQ(*exact.send({.sequence = 0}), Offset(2));
}

TEST(ProducerState, AnOlderEpochIsFencedAndANewOneBeginsAtZero) {
  Appender log;
  ASSERT_TRUE(log.send({.sequence = 0, .epoch = 3}));
  EXPECT_EQ(log.error_of({.sequence = 1, .epoch = 2}), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(log.error_of({.sequence = 0, .epoch = 2}), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(log.error_of({.sequence = 1, .epoch = 4}), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(*log.send({.sequence = 0, .epoch = 4}), Offset(1));
  EXPECT_EQ(log.error_of({.sequence = 0, .epoch = 3}), ErrorCode::invalid_producer_epoch) << "a zombie's repeat";
  EXPECT_EQ(*log.send({.sequence = 0, .epoch = 4}), Offset(1)) << "a repeat in the new epoch";
}

TEST(ProducerState, AppliesWhateverTheLogHolds) {
  ProducerState state;
  state.apply(header({.sequence = 100}, Offset(0)), 0);
  state.apply(header({.sequence = 500}, Offset(9)), 0);  // compaction took what was between
  EXPECT_EQ(state.check(header({.sequence = 100})).duplicate->base_offset, Offset(0));
  EXPECT_TRUE(state.check(header({.sequence = 501})).refused.ok());
  state.apply(header({.sequence = 0, .epoch = 2}, Offset(10)), 0);
  state.apply(header({.sequence = 7, .epoch = 1}, Offset(11)), 0);
  EXPECT_EQ(state.find(kProducer)->epoch, ProducerEpoch(1)) << "the log is the truth";
}

TEST(ProducerState, ForgetsAProducerADayAfterItsLastAppendAndNotBefore) {
  Appender log({.expiration_ms = 100});
  ASSERT_TRUE(log.send({.sequence = 0, .id = ProducerId(1)}, 1000));
  ASSERT_TRUE(log.send({.sequence = 0, .id = ProducerId(2)}, 1050));
  ASSERT_TRUE(log.send({.sequence = 1, .id = ProducerId(1)}, 1060));
  EXPECT_EQ(log.state.expire(1149), 0u);
  EXPECT_EQ(log.state.expire(1150), 1u);
  EXPECT_EQ(log.state.find(ProducerId(2)), nullptr);
  EXPECT_NE(log.state.find(ProducerId(1)), nullptr);
  EXPECT_EQ(log.state.expire(1160), 1u);
  EXPECT_TRUE(log.state.empty());
}

TEST(ProducerState, MakesRoomByForgettingTheLongestIdle) {
  Appender log({.max_producers = 3});
  for (int id = 0; id < 3; ++id) ASSERT_TRUE(log.send({.sequence = 0, .id = ProducerId(id)}));
  ASSERT_TRUE(log.send({.sequence = 1, .id = ProducerId(0)}));
  ASSERT_TRUE(log.send({.sequence = 0, .id = ProducerId(3)}));
  EXPECT_EQ(log.state.size(), 3u);
  EXPECT_EQ(log.state.evicted(), 1u);
  EXPECT_EQ(log.state.find(ProducerId(1)), nullptr);
  EXPECT_TRUE(log.send({.sequence = 77, .id = ProducerId(1)})) << "begins anywhere, as an unknown one";
  EXPECT_EQ(log.state.find(ProducerId(2)), nullptr);
}

TEST(ProducerState, AProducerThatWasNeverForgottenBeginsAtZero) {
  Appender log({.expiration_ms = 100});
  log.state.set_complete_from(ProducerId(10));
  EXPECT_EQ(log.error_of({.sequence = 1, .id = ProducerId(10)}), ErrorCode::out_of_order_sequence_number)
      << "its first batch was refused, and this one was in flight behind it";
  EXPECT_EQ(*log.send({.sequence = 0, .id = ProducerId(10)}), Offset(0));
  EXPECT_EQ(*log.send({.sequence = 1, .id = ProducerId(10)}), Offset(1));
  EXPECT_EQ(*log.send({.sequence = 7, .id = ProducerId(9)}), Offset(2)) << "may have been known";
  const PlantedCanary planted(Canary::new_producer_may_skip);
  EXPECT_EQ(log.error_of({.sequence = 1, .id = ProducerId(11)}), ErrorCode::none);
}

TEST(ProducerState, WhoWasForgottenMayContinueAndSoMayAllBefore) {
  Appender log({.max_producers = 2, .expiration_ms = 100});
  log.state.set_complete_from(ProducerId(0));
  ASSERT_TRUE(log.send({.sequence = 0, .id = ProducerId(5)}));
  ASSERT_TRUE(log.send({.sequence = 0, .id = ProducerId(3)}));
  ASSERT_TRUE(log.send({.sequence = 0, .id = ProducerId(8)}));
  EXPECT_EQ(log.state.complete_from(), ProducerId(6)) << "producer 5 had to make room";
  EXPECT_EQ(log.state.expire(100), 2u);
  EXPECT_EQ(log.state.complete_from(), ProducerId(9));
  EXPECT_EQ(log.error_of({.sequence = 4, .id = ProducerId(8)}), ErrorCode::none);
  EXPECT_EQ(log.error_of({.sequence = 4, .id = ProducerId(9)}), ErrorCode::out_of_order_sequence_number);
}

TEST(ProducerState, CompactionMayHaveTakenTheBatchesOfAnyProducer) {
  ProducerState state;
  state.set_complete_from(ProducerId(0));
  BatchHeader emptied = header({.sequence = -1, .records = 3, .id = kNoProducerId}, Offset(0));
  state.apply(emptied, 0);
  EXPECT_EQ(state.complete_from(), ProducerId(0)) << "as it was appended";
  emptied.records_count = 2;
  state.apply(emptied, 0);
  EXPECT_EQ(state.complete_from(), kNoneComplete);
}

// A replica that begins at any offset, with what it is told, and applies the same batches from there on.
TEST(ProducerState, WhoeverBeginsAnywhereWithWhatWasKnownThereArrivesAtTheSame) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SimulatedRandom random(seed);
    std::vector<std::pair<BatchHeader, std::optional<TransactionMarker>>> log;
    ProducerState whole;
    whole.set_complete_from(ProducerId(2));
    Offset end{0};
    for (int step = 0; step < 60; ++step) {
      const bool is_marker = random.one_in(5);
      const Sent sent{.sequence = is_marker ? -1 : step,
                      .records = is_marker ? 1 : static_cast<int32_t>(1 + random.below(3)),
                      .epoch = static_cast<int16_t>(step / 40),
                      .id = ProducerId(static_cast<int64_t>(random.below(6)))};
      BatchHeader batch = header(sent, end);
      if (is_marker || random.one_in(2)) batch.attributes |= batch_attribute::kTransactional;
      std::optional<TransactionMarker> marker;
      if (is_marker) {
        batch.attributes |= batch_attribute::kControl;
        marker = TransactionMarker{.result = TransactionResult::commit, .coordinator_epoch = step / 30};
      }
      log.emplace_back(batch, marker);
      whole.apply(batch, 7, marker);
      end = batch.next_offset();
    }
    const size_t from = random.below(log.size());
    const Offset start = log[from].first.base_offset;
    ProducerState follower = whole.as_of(start);
    EXPECT_EQ(follower.complete_from(), ProducerId(2));
    for (const Producer& producer : follower.producers()) {
      if (producer.batch_count > 0) ASSERT_LE(producer.newest().next_offset(), start);
      ASSERT_LT(producer.last_marker, start);
      ASSERT_LT(producer.transaction_start, start);
    }
    for (size_t i = from; i < log.size(); ++i) follower.apply(log[i].first, 7, log[i].second);
    for (const Producer& producer : whole.producers()) {
      ASSERT_TRUE(*follower.find(producer.id) == producer)
          << fmt::format("seed {}, from {}, producer {}", seed, start, producer.id);
    }
    ASSERT_EQ(follower.size(), whole.size());
    ASSERT_EQ(follower.last_stable_offset(end), whole.last_stable_offset(end));
  }
}

// The simplest thing that can be said of it: all batches ever appended, in a list.
class ProducerModel {
 public:
  Result<Offset> send(const Sent& sent) {
    auto& log = logs_[sent.id];
    if (!log.empty() && sent.epoch < log.back().first.epoch) return failure(Status(ErrorCode::invalid_producer_epoch));
    std::vector<std::pair<Sent, Offset>> window;
    for (const auto& entry : log) {
      if (entry.first.epoch == sent.epoch) window.push_back(entry);
    }
    if (window.size() > 5) window.erase(window.begin(), window.end() - 5);
    for (const auto& [known, offset] : window) {
      if (known.sequence == sent.sequence && known.records == sent.records) return offset;
    }
    int64_t expected = sent.sequence;
    if (!window.empty()) {
      expected = (int64_t{window.back().first.sequence} + window.back().first.records) % (int64_t{kMaxSequence} + 1);
    } else if (!log.empty()) {
      expected = 0;
    }
    if (sent.sequence != expected) return failure(Status(ErrorCode::out_of_order_sequence_number));
    const Offset base = end_;
    log.emplace_back(sent, base);
    end_ += sent.records;
    return base;
  }

 private:
  std::map<ProducerId, std::vector<std::pair<Sent, Offset>>> logs_;
  Offset end_{0};
};

TEST(ProducerState, BehavesLikeAListOfBatches) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SimulatedRandom random(seed);
    Appender log;
    ProducerModel model;
    std::vector<Sent> sent;
    std::map<ProducerId, Sent> next;
    for (int step = 0; step < 1000; ++step) {
      const ProducerId id(static_cast<int64_t>(random.below(3)));
      auto [at, is_new] = next.try_emplace(id, Sent{.id = id});
      if (is_new) at->second.sequence = random.one_in(2) ? 0 : kMaxSequence - static_cast<int32_t>(random.below(20));
      Sent batch = at->second;
      batch.records = static_cast<int32_t>(1 + random.below(4));
      if (!sent.empty() && random.one_in(3))
        batch = sent[sent.size() - 1 - random.below(std::min<size_t>(sent.size(), 25))];
      if (random.one_in(15)) batch.sequence = sequence_after(batch.sequence, static_cast<int32_t>(random.below(5)));
      if (random.one_in(40)) {
        batch = {.sequence = random.one_in(4) ? 1 : 0, .epoch = static_cast<int16_t>(batch.epoch + 1), .id = id};
      }
      const auto expected = model.send(batch);
      const Offset end_before = log.end;
      const auto got = log.send(batch);
      ASSERT_EQ(got.has_value(), expected.has_value()) << "seed " << seed << " step " << step;
      if (!got) {
        ASSERT_EQ(got.error().code(), expected.error().code()) << "seed " << seed << " step " << step;
        continue;
      }
      ASSERT_EQ(*got, *expected) << "seed " << seed << " step " << step;
      sent.push_back(batch);
      if (log.end != end_before) {
        next[batch.id] = batch;
        next[batch.id].sequence = sequence_after(batch.sequence, batch.records);
      }
    }
  }
}

// Every order in which six batches can arrive, with each of them sent once more afterwards: what is in the log is a
// prefix in order, and each batch is there at most once.
TEST(ProducerState, NoOrderOfArrivalDoublesOrReorders) {
  std::vector<int> order{0, 1, 2, 3, 4, 5};
  do {
    Appender log;
    // Known already, so that the first of them cannot begin anywhere.
    ASSERT_TRUE(log.send({.sequence = 0}));
    std::vector<int> stored;
    for (int round = 0; round < 2; ++round) {
      for (const int number : order) {
        const Offset before = log.end;
        const auto result = log.send({.sequence = 1 + number});
        if (log.end != before) stored.push_back(number);
        if (result) ASSERT_EQ(*result, Offset(1 + number));
      }
    }
    for (size_t i = 0; i < stored.size(); ++i) ASSERT_EQ(stored[i], static_cast<int>(i));
  } while (std::ranges::next_permutation(order).found);
}

}  // namespace
}  // namespace naru
