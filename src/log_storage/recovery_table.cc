#include "log_storage/recovery_table.h"

#include <algorithm>
#include <array>

#include "foundation/assert.h"

namespace naru {
namespace {

template <class... Value>
constexpr uint8_t any_of(Value... value) {
  return static_cast<uint8_t>(((1u << static_cast<unsigned>(value)) | ...));
}
constexpr uint8_t kAny = 0xff;
constexpr uint8_t kYes = any_of(1), kNo = any_of(0);

constexpr uint8_t kGood = any_of(IndexState::ok);
constexpr uint8_t kNotGood = any_of(IndexState::missing, IndexState::damaged, IndexState::beyond_log);

// clang-format off
constexpr std::array kExaminations{
    //             checkpoint clean  last   end of  offset    time
    //             readable   mark   one    promise index     index
    ExaminationRow{kNo,       kAny,  kAny,  kAny,   kAny,     kAny,     Examination::scan_all},
    ExaminationRow{kYes,      kAny,  kAny,  kAny,   kNotGood, kAny,     Examination::scan_all},
    ExaminationRow{kYes,      kAny,  kAny,  kAny,   kGood,    kNotGood, Examination::scan_all},
    ExaminationRow{kYes,      kYes,  kAny,  kAny,   kGood,    kGood,    Examination::walk_tail},
    ExaminationRow{kYes,      kNo,   kYes,  kAny,   kGood,    kGood,    Examination::scan_all},
    ExaminationRow{kYes,      kNo,   kNo,   kYes,   kGood,    kGood,    Examination::scan_all},
    ExaminationRow{kYes,      kNo,   kNo,   kNo,    kGood,    kGood,    Examination::walk_tail},
};

constexpr uint8_t kJoined = any_of(Joint::joined), kGap = any_of(Joint::gap), kOverlap = any_of(Joint::overlap);
constexpr uint8_t kWalked = any_of(Content::tail_walked), kValid = any_of(Content::scanned_valid);
constexpr uint8_t kWhole = kWalked | kValid, kBad = any_of(Content::bad_batch);
constexpr uint8_t kKept = any_of(Promise::kept), kBroken = any_of(Promise::broken);
constexpr uint8_t kUnknown = any_of(Promise::unknown);

constexpr std::array kSegments{
    //         behind
    //         a cut  joint     content  promise
    SegmentRow{kYes,  kAny,     kAny,    kAny,                SegmentAction::drop},
    SegmentRow{kNo,   kOverlap, kAny,    kAny,                SegmentAction::refuse_overlap},
    SegmentRow{kNo,   kGap,     kAny,    kKept,               SegmentAction::drop},
    SegmentRow{kNo,   kGap,     kAny,    kBroken | kUnknown,  SegmentAction::refuse_gap},
    SegmentRow{kNo,   kJoined,  kBad,    kKept,               SegmentAction::cut},
    SegmentRow{kNo,   kJoined,  kBad,    kBroken | kUnknown,  SegmentAction::refuse_bad_batch},
    SegmentRow{kNo,   kJoined,  kWhole,  kBroken,             SegmentAction::refuse_missing_end},
    SegmentRow{kNo,   kJoined,  kValid,  kKept | kUnknown,    SegmentAction::keep_with_new_indexes},
    SegmentRow{kNo,   kJoined,  kWalked, kKept | kUnknown,    SegmentAction::keep},
};

constexpr uint8_t kReadable = any_of(EpochFile::readable), kUnreadable = any_of(EpochFile::missing, EpochFile::damaged);

constexpr std::array kEpochs{
    EpochRow{kUnreadable, kAny,                                       EpochAction::rebuild},
    EpochRow{kReadable,   any_of(EpochAgreement::agrees),             EpochAction::keep},
    EpochRow{kReadable,   any_of(EpochAgreement::differs_at_the_end), EpochAction::correct_end},
    EpochRow{kReadable,   any_of(EpochAgreement::contradicts),        EpochAction::rebuild},
};

constexpr std::array kSwaps{
    SwapRow{any_of(LeftoverName::cleaned), kAny,                         SwapAction::remove},
    SwapRow{any_of(LeftoverName::swap),    any_of(SwapContent::whole),   SwapAction::finish},
    SwapRow{any_of(LeftoverName::swap),    any_of(SwapContent::damaged), SwapAction::refuse},
};
// clang-format on

template <class Fact>
bool allows(uint8_t allowed, Fact fact) {
  return (allowed >> static_cast<unsigned>(fact) & 1u) != 0;
}

template <class Facts, class Rows>
auto decide_by(const Rows& rows, const Facts& facts) {
  const auto row = std::ranges::find_if(rows, [&](const auto& candidate) { return candidate.matches(facts); });
  NARU_ASSERT(row != rows.end(), "no row of the recovery table matches");
  return row->decision;
}

}  // namespace

bool ExaminationRow::matches(const SegmentOutside& facts) const {
  return allows(checkpoint_readable, facts.checkpoint_readable) && allows(clean_shutdown, facts.clean_shutdown) &&
         allows(last_segment, facts.last_segment) && allows(reaches_end_of_promise, facts.reaches_end_of_promise) &&
         allows(offset_index, facts.offset_index) && allows(time_index, facts.time_index);
}

bool SegmentRow::matches(const SegmentInside& facts) const {
  return allows(behind_a_cut, facts.behind_a_cut) && allows(joint, facts.joint) && allows(content, facts.content) &&
         allows(promise, facts.promise);
}

bool EpochRow::matches(const EpochFacts& facts) const {
  return allows(file, facts.file) && allows(agreement, facts.agreement);
}

bool SwapRow::matches(const SwapFacts& facts) const {
  return allows(name, facts.name) && allows(content, facts.content);
}

std::span<const ExaminationRow> examination_table() {
  return kExaminations;
}
std::span<const SegmentRow> segment_table() {
  return kSegments;
}
std::span<const EpochRow> epoch_table() {
  return kEpochs;
}

std::span<const SwapRow> swap_table() {
  return kSwaps;
}

Examination decide(const SegmentOutside& facts) {
  return decide_by(kExaminations, facts);
}
SegmentAction decide(const SegmentInside& facts) {
  return decide_by(kSegments, facts);
}
EpochAction decide(const EpochFacts& facts) {
  return decide_by(kEpochs, facts);
}
SwapAction decide(const SwapFacts& facts) {
  return decide_by(kSwaps, facts);
}

}  // namespace naru
