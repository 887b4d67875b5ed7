// The bytes of a commit journal: docs/formats/commit_journal.md.
//
//     | slot | slot | ring of blocks: rounds, each at the begin of a block                                   |
//
// A position counts the bytes ever written to the ring, so it tells laps apart; its place is position modulo size.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/uuid.h"
#include "log_storage/log_id.h"
#include "record_format/record_batch.h"

namespace naru {

// The unit of space, and of what a disk may tear: no block ever holds parts of two rounds.
inline constexpr uint64_t kJournalBlock = 4096;
inline constexpr uint64_t kJournalSlots = 2;
inline constexpr uint64_t kJournalRingBegin = kJournalSlots * kJournalBlock;
inline constexpr uint16_t kJournalFormatVersion = 1;
inline constexpr uint64_t kNoJournalPosition = std::numeric_limits<uint64_t>::max();

constexpr uint64_t round_up_to_blocks(uint64_t bytes) {
  return (bytes + kJournalBlock - 1) / kJournalBlock * kJournalBlock;
}

// Which rounds count: those with the id of the newest slot. Writing a slot with another id empties the journal.
struct JournalSlot {
  uint64_t sequence = 0;
  Uuid journal_id;
  uint64_t ring_bytes = 0;
  bool operator==(const JournalSlot&) const = default;
};
inline constexpr size_t kJournalSlotBytes = 64;
using JournalSlotBytes = std::array<std::byte, kJournalSlotBytes>;

JournalSlotBytes encode_journal_slot(const JournalSlot& slot);
// Nothing: damaged, or never written. The version is checked by the caller, who can name the file.
struct DecodedJournalSlot {
  JournalSlot slot;
  uint16_t version = 0;
};
std::optional<DecodedJournalSlot> decode_journal_slot(BytesView bytes);

// One write and one sync: the batches of many logs, one behind the other.
struct JournalRoundHeader {
  Uuid journal_id;
  uint64_t sequence = 0;  // 1, 2, ... A round is written only when the one before is durable
  uint64_t position = 0;
  uint64_t previous_position = kNoJournalPosition;  // of the round before; none for the first
  uint64_t tail = 0;                                // rounds before this position are of no use any more
  uint32_t bytes = 0;                               // with this header, without what fills the last block
  uint32_t entries = 0;
  uint32_t entries_crc = 0;  // of the entries' headers and those of their batches
  bool operator==(const JournalRoundHeader&) const = default;
};
inline constexpr size_t kJournalRoundHeaderBytes = 96;

void encode_journal_round_header(const JournalRoundHeader& header, std::byte* to);
// Nothing when there is no whole header.
std::optional<JournalRoundHeader> decode_journal_round_header(BytesView bytes);

// In front of each batch. The batch's own CRC covers what entries_crc does not.
struct JournalEntryHeader {
  LogId log;
  LeaderEpoch leader_epoch;
  Offset base_offset;
  Offset end_offset;
  uint64_t truncations = 0;
  Offset durable_before;
  uint32_t batch_bytes = 0;
  bool operator==(const JournalEntryHeader&) const = default;
};
inline constexpr size_t kJournalEntryHeaderBytes = 60;

void encode_journal_entry_header(const JournalEntryHeader& header, std::byte* to);
JournalEntryHeader decode_journal_entry_header(const std::byte* from);

}  // namespace naru
