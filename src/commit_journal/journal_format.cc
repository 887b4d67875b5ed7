#include "commit_journal/journal_format.h"

#include "foundation/crc32c.h"
#include "foundation/endian.h"

namespace naru {
namespace {

constexpr uint64_t kSlotMagic = 0x6e6172752e6a726e;   // "naru.jrn"
constexpr uint64_t kRoundMagic = 0x6e6172752e726e64;  // "naru.rnd"

namespace slot_field {
constexpr size_t kMagic = 0, kVersion = 8, kSequence = 12, kId = 20, kRingBytes = 36, kCrc = kJournalSlotBytes - 4;
}
namespace round_field {
constexpr size_t kMagic = 0, kId = 8, kSequence = 24, kPosition = 32, kPrevious = 40, kTail = 48, kBytes = 56,
                 kEntries = 60, kEntriesCrc = 64, kCrc = kJournalRoundHeaderBytes - 4;
}
namespace entry_field {
constexpr size_t kTopicId = 0, kPartition = 16, kLeaderEpoch = 20, kBaseOffset = 24, kEndOffset = 32, kTruncations = 40,
                 kDurableBefore = 48, kBatchBytes = 56;
}

void store_uuid(std::byte* to, const Uuid& id) {
  store_big_endian(to, id.high);
  store_big_endian(to + 8, id.low);
}
Uuid load_uuid(const std::byte* from) {
  return {load_big_endian<uint64_t>(from), load_big_endian<uint64_t>(from + 8)};
}

bool is_whole(BytesView bytes, size_t size, uint64_t magic) {
  return bytes.size() >= size && load_big_endian<uint64_t>(bytes.data()) == magic &&
         load_big_endian<uint32_t>(bytes.data() + size - 4) == crc32c(bytes.first(size - 4));
}

}  // namespace

JournalSlotBytes encode_journal_slot(const JournalSlot& slot) {
  JournalSlotBytes bytes{};
  store_big_endian(bytes.data() + slot_field::kMagic, kSlotMagic);
  store_big_endian(bytes.data() + slot_field::kVersion, kJournalFormatVersion);
  store_big_endian(bytes.data() + slot_field::kSequence, slot.sequence);
  store_uuid(bytes.data() + slot_field::kId, slot.journal_id);
  store_big_endian(bytes.data() + slot_field::kRingBytes, slot.ring_bytes);
  store_big_endian(bytes.data() + slot_field::kCrc, crc32c(BytesView(bytes).first(slot_field::kCrc)));
  return bytes;
}

std::optional<DecodedJournalSlot> decode_journal_slot(BytesView bytes) {
  if (!is_whole(bytes, kJournalSlotBytes, kSlotMagic)) return std::nullopt;
  return DecodedJournalSlot{.slot = {.sequence = load_big_endian<uint64_t>(bytes.data() + slot_field::kSequence),
                                     .journal_id = load_uuid(bytes.data() + slot_field::kId),
                                     .ring_bytes = load_big_endian<uint64_t>(bytes.data() + slot_field::kRingBytes)},
                            .version = load_big_endian<uint16_t>(bytes.data() + slot_field::kVersion)};
}

void encode_journal_round_header(const JournalRoundHeader& header, std::byte* to) {
  std::fill_n(to, kJournalRoundHeaderBytes, std::byte{0});
  store_big_endian(to + round_field::kMagic, kRoundMagic);
  store_uuid(to + round_field::kId, header.journal_id);
  store_big_endian(to + round_field::kSequence, header.sequence);
  store_big_endian(to + round_field::kPosition, header.position);
  store_big_endian(to + round_field::kPrevious, header.previous_position);
  store_big_endian(to + round_field::kTail, header.tail);
  store_big_endian(to + round_field::kBytes, header.bytes);
  store_big_endian(to + round_field::kEntries, header.entries);
  store_big_endian(to + round_field::kEntriesCrc, header.entries_crc);
  store_big_endian(to + round_field::kCrc, crc32c({to, round_field::kCrc}));
}

std::optional<JournalRoundHeader> decode_journal_round_header(BytesView bytes) {
  if (!is_whole(bytes, kJournalRoundHeaderBytes, kRoundMagic)) return std::nullopt;
  const std::byte* from = bytes.data();
  return JournalRoundHeader{.journal_id = load_uuid(from + round_field::kId),
                            .sequence = load_big_endian<uint64_t>(from + round_field::kSequence),
                            .position = load_big_endian<uint64_t>(from + round_field::kPosition),
                            .previous_position = load_big_endian<uint64_t>(from + round_field::kPrevious),
                            .tail = load_big_endian<uint64_t>(from + round_field::kTail),
                            .bytes = load_big_endian<uint32_t>(from + round_field::kBytes),
                            .entries = load_big_endian<uint32_t>(from + round_field::kEntries),
                            .entries_crc = load_big_endian<uint32_t>(from + round_field::kEntriesCrc)};
}

void encode_journal_entry_header(const JournalEntryHeader& header, std::byte* to) {
  store_uuid(to + entry_field::kTopicId, header.log.topic_id);
  store_big_endian(to + entry_field::kPartition, header.log.partition.value());
  store_big_endian(to + entry_field::kLeaderEpoch, header.leader_epoch.value());
  store_big_endian(to + entry_field::kBaseOffset, header.base_offset.value());
  store_big_endian(to + entry_field::kEndOffset, header.end_offset.value());
  store_big_endian(to + entry_field::kTruncations, header.truncations);
  store_big_endian(to + entry_field::kDurableBefore, header.durable_before.value());
  store_big_endian(to + entry_field::kBatchBytes, header.batch_bytes);
}

JournalEntryHeader decode_journal_entry_header(const std::byte* from) {
  return {.log = {load_uuid(from + entry_field::kTopicId),
                  PartitionIndex(load_big_endian<int32_t>(from + entry_field::kPartition))},
          .leader_epoch = LeaderEpoch(load_big_endian<int32_t>(from + entry_field::kLeaderEpoch)),
          .base_offset = Offset(load_big_endian<int64_t>(from + entry_field::kBaseOffset)),
          .end_offset = Offset(load_big_endian<int64_t>(from + entry_field::kEndOffset)),
          .truncations = load_big_endian<uint64_t>(from + entry_field::kTruncations),
          .durable_before = Offset(load_big_endian<int64_t>(from + entry_field::kDurableBefore)),
          .batch_bytes = load_big_endian<uint32_t>(from + entry_field::kBatchBytes)};
}

}  // namespace naru
