#include "log_storage/producer_snapshot.h"

#include <gtest/gtest.h>

#include "foundation/crc32c.h"
#include "foundation/endian.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr RunningTimeMs kSnapshotTime = 10'000;

BatchHeader batch(int64_t producer, int32_t sequence, int64_t base, int32_t delta = 0) {
  BatchHeader header;
  header.base_offset = Offset(base);
  header.last_offset_delta = delta;
  header.max_timestamp = 5000 + base;
  header.producer_id = ProducerId(producer);
  header.producer_epoch = ProducerEpoch(1);
  header.base_sequence = sequence;
  return header;
}

BatchHeader marker(int64_t producer, int64_t base) {
  BatchHeader header = batch(producer, -1, base);
  header.attributes = batch_attribute::kTransactional | batch_attribute::kControl;
  header.records_count = 1;
  return header;
}

BatchHeader transactional(int64_t producer, int32_t sequence, int64_t base) {
  BatchHeader header = batch(producer, sequence, base);
  header.attributes = batch_attribute::kTransactional;
  header.records_count = 1;
  return header;
}

ProducerState some_transactions() {
  ProducerState state;
  state.apply(transactional(1, 0, 0), 1000);
  state.apply(transactional(2, 0, 1), 1001);
  state.apply(marker(2, 2), 1002, TransactionMarker{.result = TransactionResult::abort, .coordinator_epoch = 4});
  state.apply(marker(3, 3), 1003, TransactionMarker{.result = TransactionResult::commit, .coordinator_epoch = 5});
  state.apply(transactional(4, -1, 4), 1004);
  return state;
}

ProducerState some_state() {
  ProducerState state;
  for (int i = 0; i < 9; ++i) state.apply(batch(i % 3 == 0 ? 100 : i, 2 * i, 2 * i, 1), 1000 + i);
  return state;
}

void reseal(Bytes& bytes) {
  store_big_endian(bytes.data() + bytes.size() - 4, crc32c(BytesView(bytes).first(bytes.size() - 4)));
}

TEST(ProducerSnapshot, ComesBackAsItWent) {
  const ProducerState state = some_state();
  const Bytes bytes = encode_producer_snapshot(state, Offset(18), kSnapshotTime);
  const auto decoded = decode_producer_snapshot(bytes, Offset(18), {}, kSnapshotTime);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_TRUE(*decoded == state);
  EXPECT_EQ(decoded->find(ProducerId(100))->batch_count, 3);
  EXPECT_EQ(decode_producer_snapshot(encode_producer_snapshot(ProducerState(), Offset(0), kSnapshotTime), Offset(0), {},
                                     kSnapshotTime)
                ->size(),
            0u);
}

TEST(ProducerSnapshot, EveryFlippedBitAndEveryCutIsNoticed) {
  const Bytes good = encode_producer_snapshot(some_state(), Offset(18), kSnapshotTime);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_EQ(decode_producer_snapshot(bad, Offset(18), {}, kSnapshotTime).error(), ErrorCode::corrupt_data) << bit;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_producer_snapshot(BytesView(good).first(size), Offset(18), {}, kSnapshotTime).has_value())
        << size;
  }
}

TEST(ProducerSnapshot, WhatHasTheRightCrcMustMakeSenseToo) {
  const Bytes good = encode_producer_snapshot(some_state(), Offset(18), kSnapshotTime);
  EXPECT_EQ(decode_producer_snapshot(good, Offset(19), {}, kSnapshotTime).error(), ErrorCode::corrupt_data)
      << "of another offset";
  const auto with = [&](size_t at, auto value) {
    Bytes changed = good;
    store_big_endian(changed.data() + at, value);
    reseal(changed);
    const auto decoded = decode_producer_snapshot(changed, Offset(18), {}, kSnapshotTime);
    return decoded ? ErrorCode::none : decoded.error().code();
  };
  EXPECT_EQ(with(8, int32_t{4}), ErrorCode::unsupported_format);
  EXPECT_EQ(with(12, int32_t{1}), ErrorCode::corrupt_data) << "fewer producers than bytes";
  EXPECT_EQ(with(12, int32_t{-1}), ErrorCode::corrupt_data);
  EXPECT_EQ(with(12, int32_t{1 << 30}), ErrorCode::corrupt_data);
  EXPECT_EQ(with(24, int64_t{-1}), ErrorCode::corrupt_data) << "complete from";
  EXPECT_EQ(with(32, int64_t{-1}), ErrorCode::corrupt_data) << "producer id";
  EXPECT_EQ(with(50, int64_t{-1}), ErrorCode::corrupt_data) << "idle for less than no time";
  EXPECT_EQ(with(32, int64_t{8}), ErrorCode::corrupt_data) << "a producer twice";
  EXPECT_EQ(with(58, int32_t{1}), ErrorCode::corrupt_data) << "a coordinator epoch without a marker";
  EXPECT_EQ(with(62, int64_t{18}), ErrorCode::corrupt_data) << "a marker behind the snapshot's offset";
  EXPECT_EQ(with(70, int64_t{18}), ErrorCode::corrupt_data) << "a transaction behind the snapshot's offset";
  EXPECT_EQ(with(70, int64_t{-2}), ErrorCode::corrupt_data);
  EXPECT_EQ(with(78, uint8_t{6}), ErrorCode::corrupt_data) << "batches";
  EXPECT_EQ(with(78, uint8_t{0}), ErrorCode::corrupt_data);
  EXPECT_EQ(with(79, int32_t{-1}), ErrorCode::corrupt_data) << "sequence";
  EXPECT_EQ(with(83, int32_t{100}), ErrorCode::corrupt_data) << "reaches beyond the snapshot's offset";
  EXPECT_EQ(with(87, int64_t{18}), ErrorCode::corrupt_data) << "base offset";
}

TEST(ProducerSnapshot, TransactionsComeBackAsTheyWent) {
  const ProducerState state = some_transactions();
  const auto decoded =
      decode_producer_snapshot(encode_producer_snapshot(state, Offset(5), kSnapshotTime), Offset(5), {}, kSnapshotTime);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_TRUE(*decoded == state);
  EXPECT_EQ(decoded->oldest_open(), Offset(0));
  EXPECT_EQ(decoded->find(ProducerId(3))->batch_count, 0) << "only a marker is known of it";
  EXPECT_EQ(decoded->find(ProducerId(3))->coordinator_epoch, 5);
  EXPECT_TRUE(decoded->ended().entries() == state.ended().entries());
  EXPECT_EQ(decoded->ended().first_unstable(Offset(2)), Offset(1)) << "its marker may not be committed";
}

TEST(ProducerSnapshot, TransactionsThatCannotBeAreNoticed) {
  const Bytes good = encode_producer_snapshot(some_transactions(), Offset(5), kSnapshotTime);
  const auto with = [&](size_t from_the_end, auto value) {
    Bytes changed = good;
    store_big_endian(changed.data() + changed.size() - from_the_end, value);
    reseal(changed);
    const auto decoded = decode_producer_snapshot(changed, Offset(5), {}, kSnapshotTime);
    return decoded ? ErrorCode::none : decoded.error().code();
  };
  EXPECT_EQ(with(24, int32_t{1}), ErrorCode::none) << "as it is";
  EXPECT_EQ(with(24, int32_t{2}), ErrorCode::corrupt_data) << "more ended ones than bytes";
  EXPECT_EQ(with(24, int32_t{-1}), ErrorCode::corrupt_data);
  EXPECT_EQ(with(20, int64_t{2}), ErrorCode::corrupt_data) << "begins at its own marker";
  EXPECT_EQ(with(20, int64_t{-1}), ErrorCode::corrupt_data);
  EXPECT_EQ(with(12, int64_t{5}), ErrorCode::corrupt_data) << "a marker behind the snapshot's offset";
}

TEST(ProducerSnapshot, ALowerLimitKeepsThoseThatWereIdleForLess) {
  ProducerState state;
  for (int i = 0; i < 10; ++i) state.apply(batch(i, 0, i), i);
  const auto decoded = decode_producer_snapshot(encode_producer_snapshot(state, Offset(10), kSnapshotTime), Offset(10),
                                                {.max_producers = 4}, kSnapshotTime);
  ASSERT_EQ(decoded->size(), 4u);
  EXPECT_EQ(decoded->producers().front().get().id, ProducerId(6));
}

ProducerState described_state() {
  ProducerState state;
  BatchHeader first = batch(9, 0, 0, 1);
  first.max_timestamp = 1000;
  BatchHeader second = batch(9, 2, 2);
  second.max_timestamp = 2000;
  state.apply(first, 2500);
  state.apply(second, 3000);
  return state;
}

ProducerState described_transaction() {
  ProducerState state = described_state();
  BatchHeader opens = transactional(9, 3, 3);
  opens.max_timestamp = 2000;
  state.apply(opens, 3000);
  BatchHeader ends = marker(9, 4);
  ends.max_timestamp = 2500;
  state.apply(ends, 4000, TransactionMarker{.result = TransactionResult::commit, .coordinator_epoch = 6});
  return state;
}

Bytes snapshot_from_hex(std::string_view hex) {
  Bytes bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// In older versions the times are those of a wall clock, which may have been set since.
void expect_active_now(const ProducerState& decoded, const ProducerState& described) {
  ProducerState expected;
  for (Producer producer : described.producers()) {
    producer.last_append_ms = kSnapshotTime;
    expected.restore(producer);
  }
  EXPECT_TRUE(decoded == expected);
  EXPECT_EQ(decoded.complete_from(), kNoneComplete);
}

// The example of docs/formats/log.md: these bytes are written today, and must be readable for ever.
TEST(ProducerSnapshot, HasTheBytesOfItsDescription) {
  ProducerState state = described_transaction();
  state.set_complete_from(ProducerId(8));
  std::string hex;
  for (const std::byte byte : encode_producer_snapshot(state, Offset(5), 4500)) {
    hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  EXPECT_EQ(hex,
            "6e6172752e706964000000030000000100000000000000050000000000000008"
            "0000000000000009000100000000000009c400000000000001f4"
            "000000060000000000000004ffffffffffffffff03"
            "00000000000000010000000000000000ffffffffffffffff"
            "00000002000000000000000000000002ffffffffffffffff"
            "00000003000000000000000000000003ffffffffffffffff"
            "0000000100000000000000030000000000000004"
            "56e180d2");
}

// As it was written while producers expired by the wall clock.
TEST(ProducerSnapshot, OfTheSecondVersionIsStillRead) {
  const Bytes bytes = snapshot_from_hex(
      "6e6172752e70696400000002000000010000000000000005"
      "0000000000000009000100000000000009c40000000000000fa0"
      "000000060000000000000004ffffffffffffffff03"
      "00000000000000010000000000000000ffffffffffffffff"
      "00000002000000000000000000000002ffffffffffffffff"
      "00000003000000000000000000000003ffffffffffffffff"
      "0000000100000000000000030000000000000004"
      "6127dabc");
  const auto decoded = decode_producer_snapshot(bytes, Offset(5), {}, kSnapshotTime);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  expect_active_now(*decoded, described_transaction());
  EXPECT_TRUE(decoded->ended().entries() == described_transaction().ended().entries());
}

// As it was written before there were transactions.
TEST(ProducerSnapshot, OfTheFirstVersionIsStillRead) {
  const Bytes bytes = snapshot_from_hex(
      "6e6172752e70696400000001000000010000000000000003"
      "0000000000000009000100000000000007d00000000000000bb802"
      "00000000000000010000000000000000ffffffffffffffff"
      "00000002000000000000000000000002ffffffffffffffff"
      "c9c8613e");
  const auto decoded = decode_producer_snapshot(bytes, Offset(3), {}, kSnapshotTime);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  expect_active_now(*decoded, described_state());
  Bytes without_batches = bytes;
  store_big_endian(without_batches.data() + 50, uint8_t{0});
  reseal(without_batches);
  EXPECT_EQ(decode_producer_snapshot(without_batches, Offset(3), {}, kSnapshotTime).error(), ErrorCode::corrupt_data);
}

TEST(ProducerSnapshot, NoTimePassesBetweenOneProcessAndTheNext) {
  ProducerState state;
  state.apply(batch(1, 0, 0), 1000);
  state.apply(batch(2, 0, 1), 1700);
  state.set_complete_from(ProducerId(1));
  const Bytes bytes = encode_producer_snapshot(state, Offset(2), 2000);
  auto decoded = decode_producer_snapshot(bytes, Offset(2), {.expiration_ms = 1500}, 50);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_EQ(decoded->complete_from(), ProducerId(1));
  EXPECT_EQ(decoded->find(ProducerId(1))->last_append_ms, 50 - 1000);
  EXPECT_EQ(decoded->find(ProducerId(2))->last_append_ms, 50 - 300);
  EXPECT_EQ(decoded->expire(549), 0u);
  EXPECT_EQ(decoded->expire(550), 1u);
  EXPECT_EQ(decoded->complete_from(), ProducerId(2));
}

}  // namespace
}  // namespace naru
