// The log against the simplest thing that can be said of it: a list of batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

constexpr Offset kNoLimit{std::numeric_limits<int64_t>::max()};

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed ^ 0xabcdef), disk_(seed, random_config()) { log_ = disk_.must_open(); }

  void step() {
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return append();
      case 5:
        return sync();
      case 6:
        return random_.one_in(4) ? truncate() : append();
      case 7:
        return random_.one_in(6) ? restart() : roll();
      case 8:
      case 9:
      case 10:
        return read();
      case 11:
      case 12:
        return find_first();
      case 13:
        return find_max();
      case 14:
        return look_at_epochs();
      case 15:
        return random_.one_in(20) ? change_config() : overtaken_sync();
    }
  }

 private:
  LogConfig random_config() {
    return {.segment_bytes = 300 + random_.below(2000),
            .segment_ms = static_cast<int64_t>(50 + random_.below(1000)),
            .index_interval_bytes = static_cast<uint32_t>(random_.below(400)),
            .segment_index_bytes = 16 + random_.below(200)};
  }
  void change_config() {
    disk_.config = random_config();
    log_->set_config(disk_.config);
  }

  WallTimeMs random_timestamp() {
    switch (random_.below(12)) {
      case 0:
        return kNoTimestamp;
      case 1:
        return -static_cast<int64_t>(random_.below(1000));
      case 2:
        return static_cast<int64_t>(random_.below(1ull << 60));
      default:
        return now_ + static_cast<int64_t>(random_.below(200)) - 100;
    }
  }

  void append() {
    TestBatch batch{.epoch = epoch_};
    if (random_.one_in(10)) batch.epoch = epoch_ = epoch_ + static_cast<int32_t>(1 + random_.below(3));
    if (random_.one_in(5)) batch.compression = static_cast<Compression>(1 + random_.below(4));
    for (uint64_t i = 0, count = 1 + random_.below(4); i < count; ++i) {
      batch.records.push_back({random_timestamp(), fmt::format("{}", random_.next())});
    }
    now_ += static_cast<int64_t>(random_.below(20));
    const auto outcome = naru::append(*log_, batch, now_);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().to_string();
    ASSERT_EQ(outcome->base_offset, end());
    batches_.push_back(batch);
    ASSERT_EQ(log_->end_offset(), end());
  }
  void sync() {
    ASSERT_TRUE(naru::sync(*log_).ok());
    ASSERT_EQ(log_->durable_end(), end());
  }
  // Appends between begin and end of a sync are not covered by it.
  void overtaken_sync() {
    const Offset before = end();
    SyncWork work = log_->begin_sync();
    const Status performed = work.perform();
    append();
    ASSERT_TRUE(log_->finish_sync(std::move(work), performed).ok());
    ASSERT_EQ(log_->durable_end(), before);
  }
  void truncate() {
    const Offset to(static_cast<int64_t>(random_.below(static_cast<uint64_t>(end().value()) + 2)));
    ASSERT_TRUE(log_->truncate_to(to).ok());
    while (end() > to) batches_.pop_back();
    ASSERT_EQ(log_->end_offset(), end());
    ASSERT_LE(log_->durable_end(), end());
  }
  void roll() {
    now_ += 200;
    ASSERT_TRUE(log_->maybe_roll_by_time(now_).ok());
  }

  void restart() {
    const Offset promised = log_->durable_end();
    const uint64_t how = random_.below(3);
    if (how == 0) ASSERT_TRUE(log_->close().ok());
    log_ = nullptr;
    if (how == 1) disk_.kill();
    if (how != 1) disk_.crash();
    auto opened = disk_.open(how == 0);
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    ASSERT_EQ(opened->report.damaged_indexes, 0u) << opened->report.to_string();
    ASSERT_FALSE(opened->report.epochs_rebuilt || opened->report.checkpoint_rebuilt) << opened->report.to_string();
    log_ = std::move(opened->log);
    const auto found = read_all(*log_);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    ASSERT_TRUE(is_prefix(*found, batches_));
    if (how != 2) ASSERT_EQ(found->size(), batches_.size());
    batches_ = *found;
    ASSERT_GE(end(), promised);
    ASSERT_EQ(log_->end_offset(), end());
    ASSERT_EQ(log_->durable_end(), end());
  }

  void read() {
    const Offset from(static_cast<int64_t>(random_.below(static_cast<uint64_t>(end().value()) + 3)) - 1);
    const Offset limit = random_limit();
    const auto max_bytes = static_cast<uint32_t>(random_.below(random_.one_in(2) ? 200 : 3000));
    const bool at_least_one = random_.one_in(2);
    const auto slice = log_->read(from, limit, max_bytes, at_least_one);
    if (from < Offset(0) || from > end()) {
      ASSERT_EQ(slice.error(), ErrorCode::offset_out_of_range);
      return;
    }
    ASSERT_TRUE(slice.has_value()) << slice.error().to_string();
    const auto got = decode_slice(*slice);
    ASSERT_TRUE(got.has_value()) << got.error().to_string();

    Offset base{0};
    size_t first = 0;
    while (first < batches_.size() && base + size_of(first) <= from) base += size_of(first++);
    const bool may_read = first < batches_.size() && from < limit && base + size_of(first) <= limit;
    if (got->empty()) {
      const bool fits = may_read && build(batches_[first]).bytes.size() <= max_bytes;
      ASSERT_FALSE(fits || (may_read && at_least_one)) << "nothing read from " << from.value();
      return;
    }
    ASSERT_TRUE(may_read);
    ASSERT_EQ(slice->base_offset, base);
    ASSERT_LE(slice->next_offset, limit);
    ASSERT_TRUE(slice->bytes <= max_bytes || (at_least_one && got->size() == 1));
    ASSERT_TRUE(is_prefix(*got, {batches_.begin() + static_cast<ptrdiff_t>(first), batches_.end()}));
    // It ends for a reason: the end, the limit, the size, or the segment.
    const size_t next = first + got->size();
    const bool more_fits = next < batches_.size() && slice->next_offset + size_of(next) <= limit &&
                           slice->bytes + build(batches_[next]).bytes.size() <= max_bytes;
    if (more_fits) ASSERT_EQ(log_->read(slice->next_offset, limit, 1, true)->position, 0u) << "a new segment";
  }

  void find_first() {
    const WallTimeMs target = random_timestamp();
    const Offset limit = random_limit();
    const auto found = log_->find_first_at_or_after(target, limit);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    std::optional<OffsetAndTimestamp> expected;
    for_each_record([&](Offset offset, WallTimeMs timestamp, LeaderEpoch epoch) {
      if (!expected && timestamp >= target && offset < limit) expected = {offset, timestamp, epoch};
    });
    ASSERT_EQ(*found, expected) << "timestamp " << target << " below " << limit.value();
  }
  void find_max() {
    // At a batch boundary, where high watermarks are.
    Offset limit{0};
    for (size_t i = 0, count = random_.below(batches_.size() + 1); i < count; ++i) limit += size_of(i);
    if (random_.one_in(2)) limit = kNoLimit;
    const auto found = log_->find_max_timestamp(limit);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    std::optional<OffsetAndTimestamp> expected;
    for_each_record([&](Offset offset, WallTimeMs timestamp, LeaderEpoch epoch) {
      if (offset < limit && (!expected || timestamp > expected->timestamp)) expected = {offset, timestamp, epoch};
    });
    ASSERT_EQ(*found, expected) << "below " << limit.value();
  }
  void look_at_epochs() {
    const LeaderEpoch asked(static_cast<int32_t>(random_.below(static_cast<uint64_t>(epoch_.value()) + 3)));
    const LeaderEpoch latest = batches_.empty() ? kNoLeaderEpoch : batches_.back().epoch;
    ASSERT_EQ(log_->latest_epoch(), latest);
    EpochEnd expected;
    if (asked <= latest) {
      expected = {asked, end()};
      LeaderEpoch known = asked;
      Offset at{0};
      for (const TestBatch& batch : batches_) {
        if (batch.epoch > asked) break;
        known = batch.epoch;
        at += static_cast<int64_t>(batch.records.size());
      }
      expected = {known, at};
    }
    ASSERT_EQ(log_->end_offset_for_epoch(asked), expected) << asked.value();
  }

  template <class Visit>
  void for_each_record(Visit visit) const {
    Offset offset{0};
    for (const TestBatch& batch : batches_) {
      for (const TestRecord& record : batch.records) {
        visit(offset, record.timestamp, batch.epoch);
        ++offset;
      }
    }
  }
  Offset random_limit() {
    if (random_.one_in(2)) return kNoLimit;
    return Offset(static_cast<int64_t>(random_.below(static_cast<uint64_t>(end().value()) + 3)));
  }
  int64_t size_of(size_t batch) const { return static_cast<int64_t>(batches_[batch].records.size()); }
  Offset end() const { return Offset(offsets_in(batches_)); }

  SimulatedRandom random_;
  LogOnDisk disk_;
  std::unique_ptr<PartitionLog> log_;
  std::vector<TestBatch> batches_;
  LeaderEpoch epoch_{0};
  WallTimeMs now_ = 1000;
};

TEST(PartitionLogModel, BehavesLikeAListOfBatches) {
  constexpr int kSeeds = kSanitized ? 40 : 400, kSteps = 300;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Model model(seed);
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE(fmt::format("seed {}, step {}", seed, step));
      model.step();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace naru
