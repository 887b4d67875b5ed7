// Random lives of transactions and plain commits against a model that knows only decisions: what the last marker or the
// last plain commit has said counts. TestCoordinator checks after each step that the log, whole and compacted, says the
// same as the coordinator, also of what is pending.
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr int kProducers = 4;
constexpr int kPartitions = 3;

class NothingIsUnread final : public UnreadRecords {
 public:
  bool has_unread(const GroupPartition&, const CommittedOffset&) const override { return false; }
  bool topic_exists(std::string_view, const CommittedOffset&) const override { return true; }
};

class TransactionModel {
 public:
  explicit TransactionModel(uint64_t seed) : random_(seed), version_(seed % 2 == 0 ? int16_t{1} : int16_t{2}) {
    for (int i = 0; i < kProducers; ++i) {
      producers_.push_back({.identity = {ProducerId(100 + i), ProducerEpoch(32765)}});
    }
  }

  void act() {
    Producer& producer = producers_[random_() % kProducers];
    switch (random_() % 14) {
      case 0:
      case 1:
      case 2:
      case 3:
        return commit_in(producer);
      case 4:
      case 5:
        return commit_plainly();
      case 6:
      case 7:
        return end(producer, random_() % 3 == 0 ? TransactionResult::abort : TransactionResult::commit);
      case 8:
        return repeat_marker(producer);
      case 9:
        return commit_late(producer);
      case 10:
        return ask_for_a_guard(producer);
      case 11:
        return administrate();
      case 12:
        return crash_before_a_marker(producer);
      default:
        if (random_() % 4 == 0) restart();
        if (random_() % 8 == 0) test_.advance(24h * 31);
    }
  }

  void expect_state_of_model() {
    for (const std::string& group : kGroups) {
      for (int i = 0; i < kPartitions; ++i) {
        const OffsetKey key{group, partition(i)};
        const auto expected = offsets_.find(key);
        EXPECT_EQ(test_.committed(group, key.partition), expected == offsets_.end() ? -1 : expected->second);
        bool is_pending = false;
        for (const Producer& producer : producers_) is_pending |= producer.pending.contains(key);
        const auto stable =
            test_.fetch({.group_id = group, .partitions = {{key.partition}}, .require_stable = true}).offsets.at(0);
        EXPECT_EQ(stable.error, is_pending ? ErrorCode::unstable_offset_commit : ErrorCode::none);
      }
    }
  }

 private:
  struct Producer {
    ProducerIdentity identity;
    int64_t number = 0;  // of its newest transaction
    bool open = false;
    std::map<OffsetKey, int64_t> pending;
    std::optional<WriteMarker> last_marker;
    bool marked_since_restart = false;
    uint64_t guard = 0;
    uint64_t void_guard = 0;
  };
  inline static const std::vector<std::string> kGroups{"g", "h"};

  static GroupPartition partition(int index) { return {"t", PartitionIndex(index)}; }
  OffsetKey any_key() { return {kGroups[random_() % 2], partition(static_cast<int>(random_() % kPartitions))}; }

  void commit_in(Producer& producer) {
    const OffsetKey key = any_key();
    const int64_t offset = ++last_offset_;
    TransactionalCommit request{.producer = producer.identity};
    request.offsets = {.group_id = key.group_id, .entries = {{.partition = key.partition, .offset = Offset(offset)}}};
    request.guard = test_.begin_verification(producer.identity).guard;
    EXPECT_EQ(request.guard == 0, producer.open);
    // Whoever is asked says the number.
    if (!producer.open) request.transaction_number = TransactionNumber(++producer.number);
    EXPECT_EQ(test_.commit_in_transaction(request), std::vector{ErrorCode::none});
    producer.pending[key] = offset;
    producer.open = true;
  }
  void commit_plainly() {
    const OffsetKey key = any_key();
    EXPECT_EQ(test_.commit(key.group_id, {}, key.partition, ++last_offset_), ErrorCode::none);
    offsets_[key] = last_offset_;
  }
  WriteMarker marker_of(const Producer& producer, TransactionResult result) const {
    WriteMarker marker{.producer = producer.identity,
                       .marker = {result, 1},
                       .transaction_version = version_,
                       .transaction_number = TransactionNumber(producer.number)};
    if (version_ >= 2) marker.producer.epoch = ProducerEpoch(producer.identity.epoch.value() + 1);
    return marker;
  }
  void end(Producer& producer, TransactionResult result) {
    if (!producer.open && random_() % 2 == 0) return;
    if (!producer.open) ++producer.number;  // one that has committed no offsets
    const WriteMarker marker = marker_of(producer, result);
    EXPECT_EQ(test_.write_marker(marker), ErrorCode::none);
    ended(producer, marker);
  }
  void ended(Producer& producer, const WriteMarker& marker) {
    if (marker.marker.result == TransactionResult::commit) {
      for (const auto& [key, offset] : producer.pending) offsets_[key] = offset;
    }
    producer.pending.clear();
    producer.open = false;
    make_guard_void(producer);
    producer.last_marker = marker;
    producer.marked_since_restart = true;
    producer.identity.epoch = marker.producer.epoch;
    // The last epoch is not used; a new id is.
    if (producer.identity.epoch == ProducerEpoch(32767)) {
      producer = {.identity = {ProducerId(producer.identity.id.value() + 1000), ProducerEpoch(32765)}};
    }
  }
  // Late, whether the producer has begun its next transaction or not.
  void repeat_marker(Producer& producer) {
    if (!producer.last_marker) return;
    EXPECT_EQ(test_.write_marker(*producer.last_marker), ErrorCode::none);
    if (producer.marked_since_restart) return;
    producer.guard = 0;  // it may be void: the shard may not remember the marker
    producer.marked_since_restart = true;
  }
  void ask_for_a_guard(Producer& producer) {
    if (producer.open) return;
    if (producer.guard != 0) return use_guard(producer);
    producer.guard = test_.begin_verification(producer.identity).guard;
  }
  // Whatever has come meanwhile, it was no marker that is new.
  void use_guard(Producer& producer) {
    TransactionalCommit request{.producer = producer.identity, .guard = std::exchange(producer.guard, 0)};
    request.transaction_number = TransactionNumber(++producer.number);
    const OffsetKey key = any_key();
    request.offsets = {.group_id = key.group_id,
                       .entries = {{.partition = key.partition, .offset = Offset(++last_offset_)}}};
    EXPECT_EQ(test_.commit_in_transaction(request), std::vector{ErrorCode::none});
    producer.pending[key] = last_offset_;
    producer.open = true;
  }
  // With a guard from before the last marker or restart, and in the epoch of now.
  void commit_late(Producer& producer) {
    if (producer.open || producer.void_guard == 0) return;
    TransactionalCommit late{.producer = producer.identity, .guard = producer.void_guard};
    late.offsets = {.group_id = "g", .entries = {{.partition = partition(0), .offset = Offset(1)}}};
    EXPECT_EQ(test_.commit_in_transaction(late), std::vector{ErrorCode::invalid_txn_state});
  }
  static void make_guard_void(Producer& producer) {
    if (producer.guard != 0) producer.void_guard = std::exchange(producer.guard, 0);
  }
  void restart() {
    test_.advance(1ms);
    test_.restart(random_() % 2 == 0);
    for (Producer& producer : producers_) {
      make_guard_void(producer);
      producer.marked_since_restart = false;
    }
  }
  void administrate() {
    const OffsetKey key = any_key();
    switch (random_() % 4) {
      case 0:
        EXPECT_EQ(test_.delete_group(key.group_id),
                  knows(key.group_id) ? ErrorCode::none : ErrorCode::group_id_not_found);
        return forget([&](const OffsetKey& each) { return each.group_id == key.group_id; });
      case 1: {
        if (!knows(key.group_id)) return;
        EXPECT_EQ(test_.delete_offsets(key.group_id, {key.partition}).partitions.at(0), ErrorCode::none);
        return forget([&](const OffsetKey& each) { return each == key; });
      }
      case 2:
        test_.topics_deleted({{"t", Uuid{1, 1}}});
        return forget([](const OffsetKey&) { return true; });
      default:
        test_.expire_offsets(NothingIsUnread());
        // The model does not know of time: whatever has gone was not pending.
        std::erase_if(offsets_, [&](const auto& each) {
          const bool is_gone = test_.committed(each.first.group_id, each.first.partition) < 0;
          for (const Producer& producer : producers_) EXPECT_FALSE(is_gone && producer.pending.contains(each.first));
          return is_gone;
        });
    }
  }
  bool knows(const std::string& group) const {
    bool known = false;
    for (const auto& [key, offset] : offsets_) known |= key.group_id == group;
    for (const Producer& producer : producers_) {
      for (const auto& [key, offset] : producer.pending) known |= key.group_id == group;
    }
    return known;
  }
  template <class Predicate>
  void forget(Predicate predicate) {
    std::erase_if(offsets_, [&](const auto& each) { return predicate(each.first); });
    for (Producer& producer : producers_) {
      std::erase_if(producer.pending, [&](const auto& each) { return predicate(each.first); });
    }
  }
  // What was written before the marker is there, the marker is not; it comes again.
  void crash_before_a_marker(Producer& producer) {
    if (!producer.open) return;
    const WriteMarker marker = marker_of(producer, TransactionResult::commit);
    EXPECT_EQ(test_.write_marker(marker), ErrorCode::none);
    ASSERT_TRUE(test_.log.back().marker);
    test_.log.pop_back();
    restart();
    EXPECT_EQ(test_.write_marker(marker), ErrorCode::none);
    ended(producer, marker);
  }

  std::mt19937_64 random_;
  const int16_t version_;
  TestCoordinator test_;
  std::vector<Producer> producers_;
  std::map<OffsetKey, int64_t> offsets_;
  int64_t last_offset_ = 0;
};

TEST(TransactionalOffsetsModel, TheLastMarkerOrPlainCommitCountsLiveAndInEveryReplay) {
  silence_log();
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    TransactionModel model(seed);
    for (int i = 0; i < 120 && !HasFailure(); ++i) {
      SCOPED_TRACE(i);
      model.act();
      model.expect_state_of_model();
    }
  }
}

}  // namespace
}  // namespace naru
