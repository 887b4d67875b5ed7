#include "client/fetched_records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platform/simulated/simulated_random.h"
#include "record_format/batch_builder.h"

namespace naru::client {
namespace {

Bytes batch(int64_t base, std::vector<std::string> values, BatchOptions options = {}) {
  options.base_offset = Offset(base);
  BatchBuilder builder(options);
  for (const std::string& value : values) builder.add(1, std::nullopt, value);
  return builder.build().value();
}

Bytes operator+(Bytes first, const Bytes& second) {
  append_bytes(first, second);
  return first;
}

struct Read {
  std::vector<std::string> values;
  Result<Offset> next = Offset(0);
};

Read read(const Bytes& bytes, int64_t from, size_t limit = SIZE_MAX) {
  Read read;
  read.next = visit_records(bytes, Offset(from), [&](const RecordView& record) {
    read.values.emplace_back(as_text(*record.value));
    return read.values.size() < limit;
  });
  return read;
}

using Values = std::vector<std::string>;

TEST(VisitRecords, BeginsInTheMiddleOfABatch) {
  const auto got = read(batch(10, {"a", "b", "c"}) + batch(13, {"d"}, {.compression = Compression::zstd}), 11);
  EXPECT_EQ(got.values, (Values{"b", "c", "d"}));
  EXPECT_EQ(got.next, Offset(14));
}

TEST(VisitRecords, StopsWhereTheVisitorWantsTo) {
  const auto got = read(batch(10, {"a", "b", "c"}), 10, 2);
  EXPECT_EQ(got.values, (Values{"a", "b"}));
  EXPECT_EQ(got.next, Offset(12));
}

TEST(VisitRecords, PassesOverControlBatches) {
  const auto got = read(batch(0, {"marker"}, {.control = true}) + batch(1, {"a"}), 0);
  EXPECT_EQ(got.values, Values{"a"});
  EXPECT_EQ(got.next, Offset(2));
}

TEST(VisitRecords, LeavesABatchThatIsCutOffForTheNextFetch) {
  const Bytes whole = batch(0, {"a"}) + batch(1, {"bbbbbbbbbb"});
  const size_t first = batch(0, {"a"}).size();
  for (size_t size = first; size < whole.size(); ++size) {
    const auto got = read(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)), 0);
    EXPECT_EQ(got.values, Values{"a"});
    EXPECT_EQ(got.next, Offset(1)) << size;
  }
}

TEST(VisitRecords, APartOfTheOnlyBatchIsAnError) {
  Bytes part = batch(0, {"a"});
  part.pop_back();
  EXPECT_EQ(read(part, 0).next.error().code(), ErrorCode::corrupt_message);
  part.resize(5);
  EXPECT_EQ(read(part, 0).next.error().code(), ErrorCode::corrupt_message);
}

TEST(VisitRecords, DamageIsReportedWithItsPlace) {
  Bytes damaged = batch(0, {"a"}) + batch(1, {"b"});
  damaged.back() ^= std::byte{1};
  const auto got = read(damaged, 0);
  EXPECT_EQ(got.next.error().code(), ErrorCode::corrupt_message);
  EXPECT_NE(got.next.error().message().find("offset 1"), std::string::npos) << got.next.error().message();
}

TEST(VisitRecords, OffsetsNeverGoBack) {
  EXPECT_EQ(read(batch(0, {"old"}), 10).next, Offset(10));
}

TEST(VisitRecords, SurvivesAnyBytes) {
  SimulatedRandom random(3);
  const Bytes good = batch(0, {"a", "b"}) + batch(2, {"c"}, {.compression = Compression::lz4});
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes = good;
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    bytes.resize(random.below(bytes.size() + 1));
    const auto got = read(bytes, 0);
    if (got.next) EXPECT_GE(*got.next, Offset(0));
  }
}

}  // namespace
}  // namespace naru::client
