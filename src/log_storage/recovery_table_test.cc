#include "log_storage/recovery_table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace naru {
namespace {

template <class Rows, class Facts>
auto matching_rows(const Rows& rows, const Facts& facts) {
  return std::ranges::count_if(rows, [&](const auto& row) { return row.matches(facts); });
}

TEST(RecoveryTable, ExactlyOneRowSaysHowToExamineASegment) {
  for (int bits = 0; bits < 16; ++bits) {
    for (int offset = 0; offset < kIndexStates; ++offset) {
      for (int time = 0; time < kIndexStates; ++time) {
        const SegmentOutside facts{(bits & 1) != 0,
                                   (bits & 2) != 0,
                                   (bits & 4) != 0,
                                   (bits & 8) != 0,
                                   static_cast<IndexState>(offset),
                                   static_cast<IndexState>(time)};
        EXPECT_EQ(matching_rows(examination_table(), facts), 1) << bits << ' ' << offset << ' ' << time;
        if (decide(facts) == Examination::walk_tail) {
          EXPECT_TRUE(facts.checkpoint_readable);
          EXPECT_EQ(facts.offset_index, IndexState::ok);
          EXPECT_EQ(facts.time_index, IndexState::ok);
          EXPECT_TRUE(facts.clean_shutdown || (!facts.last_segment && !facts.reaches_end_of_promise));
        }
      }
    }
  }
}

bool is_refusal(SegmentAction action) {
  return action == SegmentAction::refuse_bad_batch || action == SegmentAction::refuse_missing_end ||
         action == SegmentAction::refuse_gap || action == SegmentAction::refuse_overlap;
}

TEST(RecoveryTable, ExactlyOneRowSaysWhatBecomesOfASegmentAndNoneLosesAPromise) {
  for (const bool behind_a_cut : {false, true}) {
    for (int joint = 0; joint < kJoints; ++joint) {
      for (int content = 0; content < kContents; ++content) {
        for (int promise = 0; promise < kPromises; ++promise) {
          const SegmentInside facts{behind_a_cut, static_cast<Joint>(joint), static_cast<Content>(content),
                                    static_cast<Promise>(promise)};
          EXPECT_EQ(matching_rows(segment_table(), facts), 1) << behind_a_cut << joint << content << promise;
          const SegmentAction action = decide(facts);
          if (action == SegmentAction::cut || (action == SegmentAction::drop && !behind_a_cut)) {
            EXPECT_EQ(facts.promise, Promise::kept) << "only what was not promised may go";
          }
          if (facts.promise == Promise::broken && !behind_a_cut) EXPECT_TRUE(is_refusal(action));
        }
      }
    }
  }
}

TEST(RecoveryTable, ExactlyOneRowSaysWhatBecomesOfTheEpochs) {
  for (int file = 0; file < kEpochFiles; ++file) {
    for (int agreement = 0; agreement < kEpochAgreements; ++agreement) {
      const EpochFacts facts{static_cast<EpochFile>(file), static_cast<EpochAgreement>(agreement)};
      EXPECT_EQ(matching_rows(epoch_table(), facts), 1) << file << ' ' << agreement;
    }
  }
}

TEST(RecoveryTable, ExactlyOneRowSaysWhatBecomesOfAnInterruptedCompaction) {
  for (int name = 0; name < kLeftoverNames; ++name) {
    for (int content = 0; content < kSwapContents; ++content) {
      const SwapFacts facts{static_cast<LeftoverName>(name), static_cast<SwapContent>(content)};
      EXPECT_EQ(matching_rows(swap_table(), facts), 1) << name << ' ' << content;
      EXPECT_EQ(decide(facts) == SwapAction::remove, facts.name == LeftoverName::cleaned)
          << "what counted once is never thrown away";
    }
  }
}

}  // namespace
}  // namespace naru
