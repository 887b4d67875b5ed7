// What recovery decides, as tables without I/O. The caller states facts, each table has exactly one row for them.
//
// The rule behind the rows: what the checkpoint promised to be durable is never cut away, and what was not promised is
// kept as far as it is whole. "Damaged below the promise" means that a person has to decide.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace naru {

// --- First: how closely a segment has to be looked at. ---------------------------------------------------------------

enum class IndexState : uint8_t { ok, missing, damaged, beyond_log };
inline constexpr int kIndexStates = 4;

struct SegmentOutside {
  bool checkpoint_readable = false;
  bool clean_shutdown = false;
  bool last_segment = false;
  bool reaches_end_of_promise = false;  // its end was promised last, or not at all: then its indexes were not
  IndexState offset_index = IndexState::ok;
  IndexState time_index = IndexState::ok;
};

enum class Examination : uint8_t {
  walk_tail,  // trust the indexes and walk from their last entry; when that does not arrive at the expected end, scan
  scan_all,   // check every batch, and build the indexes anew
};

// --- Second: what becomes of the segment. ----------------------------------------------------------------------------

enum class Joint : uint8_t {
  joined,   // it begins where the one before ends
  gap,      // it begins later
  overlap,  // it begins earlier
};
enum class Content : uint8_t { tail_walked, scanned_valid, bad_batch };
// Whether the first offset that is missing (behind this segment's last good batch; in front of it, at a gap) lies at or
// above what was promised. Unknown when the checkpoint could not be read.
enum class Promise : uint8_t { kept, broken, unknown };
inline constexpr int kJoints = 3, kContents = 3, kPromises = 3;

struct SegmentInside {
  bool behind_a_cut = false;  // an earlier segment was cut or dropped
  Joint joint = Joint::joined;
  Content content = Content::tail_walked;
  Promise promise = Promise::kept;
};

enum class SegmentAction : uint8_t {
  keep,
  keep_with_new_indexes,
  cut,   // at the first bad batch, with new indexes
  drop,  // the whole segment lies behind the end
  refuse_bad_batch,
  refuse_missing_end,
  refuse_gap,
  refuse_overlap,
};

// --- Third: the leader epochs. ---------------------------------------------------------------------------------------

enum class EpochFile : uint8_t { readable, missing, damaged };
enum class EpochAgreement : uint8_t {
  agrees,
  differs_at_the_end,  // it names epochs behind the end of the log, or lacks those of the last batches
  contradicts,         // it cannot be right about the batches that were looked at
};
inline constexpr int kEpochFiles = 3, kEpochAgreements = 3;

struct EpochFacts {
  EpochFile file = EpochFile::readable;
  EpochAgreement agreement = EpochAgreement::agrees;
};

enum class EpochAction : uint8_t {
  keep,
  correct_end,  // keep what lies before the examined batches, take the rest from them
  rebuild,      // from the headers of all batches
};

// --- Before all that: what an interrupted compaction has left. -------------------------------------------------------

enum class LeftoverName : uint8_t { cleaned, swap };
enum class SwapContent : uint8_t { whole, damaged };
inline constexpr int kLeftoverNames = 2, kSwapContents = 2;

struct SwapFacts {
  LeftoverName name = LeftoverName::cleaned;
  SwapContent content = SwapContent::whole;
};

enum class SwapAction : uint8_t {
  remove,  // it never counted: the segments that it was made from are all there
  finish,  // it counts: remove what is left of those segments, and put it in their place
  refuse,  // it counted, and they may be gone
};

// --- The tables. -----------------------------------------------------------------------------------------------------

// Each fact as a set of allowed values: bit n stands for value n.
struct ExaminationRow {
  uint8_t checkpoint_readable, clean_shutdown, last_segment, reaches_end_of_promise, offset_index, time_index;
  Examination decision;
  bool matches(const SegmentOutside& facts) const;
};
struct SegmentRow {
  uint8_t behind_a_cut, joint, content, promise;
  SegmentAction decision;
  bool matches(const SegmentInside& facts) const;
};
struct EpochRow {
  uint8_t file, agreement;
  EpochAction decision;
  bool matches(const EpochFacts& facts) const;
};

struct SwapRow {
  uint8_t name, content;
  SwapAction decision;
  bool matches(const SwapFacts& facts) const;
};

std::span<const ExaminationRow> examination_table();
std::span<const SegmentRow> segment_table();
std::span<const EpochRow> epoch_table();
std::span<const SwapRow> swap_table();

Examination decide(const SegmentOutside& facts);
SegmentAction decide(const SegmentInside& facts);
EpochAction decide(const EpochFacts& facts);
SwapAction decide(const SwapFacts& facts);

}  // namespace naru
