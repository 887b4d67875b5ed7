#include "fetch_sessions/fetch_session.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace naru {
namespace {

const Uuid kTopicId = Uuid::from_random_bits(1, 2);

FetchSession::Slot put(FetchSession& session, std::string_view topic, int partition, int64_t offset = 0) {
  return session.put(topic, Uuid(), PartitionIndex(partition), {.fetch_offset = Offset(offset), .max_bytes = 1000});
}

// Looks at everything that is due and commits; the slots that had to be told.
std::vector<FetchSession::Slot> fetch(FetchSession& session, const auto& seen_in) {
  std::vector<FetchSession::Look> looks;
  std::vector<FetchSession::Slot> told;
  for (const FetchSession::Slot slot : session.due()) {
    looks.push_back({slot, seen_in(slot)});
    if (session.must_tell(slot, looks.back().seen)) told.push_back(slot);
  }
  session.commit(looks);
  return told;
}

FetchSeen empty_partition(FetchSession::Slot) {
  return {.high_watermark = Offset(0), .log_start_offset = Offset(0)};
}

TEST(FetchSession, AcceptsOneEpochAfterTheOtherAndWrapsToOne) {
  FetchSession session(false);
  EXPECT_EQ(session.accept(0, false), ErrorCode::invalid_fetch_session_epoch);
  EXPECT_EQ(session.accept(1, false), ErrorCode::none);
  EXPECT_EQ(session.accept(1, false), ErrorCode::invalid_fetch_session_epoch) << "a repeated request";
  EXPECT_EQ(session.accept(3, false), ErrorCode::invalid_fetch_session_epoch) << "one was lost";
  EXPECT_EQ(session.accept(2, false), ErrorCode::none);

  FetchSession old(false, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(old.accept(std::numeric_limits<int32_t>::max(), false), ErrorCode::none);
  EXPECT_EQ(old.accept(1, false), ErrorCode::none) << "0 and -1 mean something else";
}

TEST(FetchSession, DoesNotChangeFromNamesToIds) {
  FetchSession session(false);
  EXPECT_EQ(session.accept(1, true), ErrorCode::fetch_session_topic_id_error);
  EXPECT_EQ(session.accept(1, false), ErrorCode::none) << "the refused request did not count";
}

TEST(FetchSession, TellsEverythingOnceAndThenOnlyWhatChanged) {
  FetchSession session(false);
  for (int i = 0; i < 5; ++i) put(session, "t", i);
  EXPECT_EQ(fetch(session, empty_partition).size(), 5u);
  EXPECT_TRUE(session.due().empty()) << "nothing is looked at without news";
  session.news(3);
  const auto told = fetch(session, [](FetchSession::Slot) {
    return FetchSeen{
        .high_watermark = Offset(7), .log_start_offset = Offset(0), .has_records = true, .more_to_read = true};
  });
  EXPECT_EQ(told, std::vector<FetchSession::Slot>{3});
  EXPECT_EQ(session.due(), std::list<FetchSession::Slot>{3}) << "the client has not moved on yet";
  put(session, "t", 3, 7);
  EXPECT_TRUE(fetch(session, [](FetchSession::Slot) {
                return FetchSeen{.high_watermark = Offset(7), .log_start_offset = Offset(0)};
              }).empty());
  EXPECT_TRUE(session.due().empty());
}

TEST(FetchSession, TellsAMovedLogStartAndErrorsUntilTheyAreGone) {
  FetchSession session(false);
  const auto slot = put(session, "t", 0);
  fetch(session, empty_partition);
  session.news(slot);
  const auto moved = [](FetchSession::Slot) {
    return FetchSeen{.high_watermark = Offset(0), .log_start_offset = Offset(5)};
  };
  EXPECT_EQ(fetch(session, moved).size(), 1u);
  session.news(slot);
  EXPECT_EQ(fetch(session, moved).size(), 0u);
  session.news(slot);
  const auto failing = [](FetchSession::Slot) { return FetchSeen{.error = ErrorCode::unknown_topic_or_partition}; };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(session, failing).size(), 1u) << "errors are told each time";
  EXPECT_EQ(fetch(session, moved).size(), 1u) << "and so is their end";
  EXPECT_EQ(fetch(session, moved).size(), 0u);
}

TEST(FetchSession, TellsAFollowerThatItsLogIsAnotherOneUntilItComesWithANewPosition) {
  FetchSession session(false);
  put(session, "t", 0);
  const auto diverges = [](FetchSession::Slot) {
    return FetchSeen{.high_watermark = Offset(0), .log_start_offset = Offset(0), .diverges = true};
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(session, diverges).size(), 1u);
  put(session, "t", 0, 5);
  EXPECT_EQ(fetch(session, empty_partition).size(), 1u)
      << "a replica that cut its log back did not take the high watermark and the start of the log from that answer";
  EXPECT_TRUE(session.due().empty());
  put(session, "t", 0, 5);
  EXPECT_TRUE(fetch(session, empty_partition).empty()) << "nothing is new";
}

TEST(FetchSession, AnAnswerThatIsNotGivenTellsNothing) {
  FetchSession session(false);
  const auto slot = put(session, "t", 0);
  const FetchSeen seen = empty_partition(slot);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(session.must_tell(slot, seen));
    EXPECT_EQ(session.due().size(), 1u);
  }
}

TEST(FetchSession, PartitionsThatWereServedGoToTheEndOfTheQueue) {
  FetchSession session(false);
  constexpr int kPartitions = 7;
  for (int i = 0; i < kPartitions; ++i) put(session, "t", i);
  std::vector<FetchSession::Slot> served;
  for (int round = 0; round < 3 * kPartitions; ++round) {
    bool full = false;  // one partition fits into an answer
    fetch(session, [&](FetchSession::Slot slot) {
      FetchSeen seen{.high_watermark = Offset(100), .log_start_offset = Offset(0), .more_to_read = true};
      seen.has_records = !std::exchange(full, true);
      if (seen.has_records) served.push_back(slot);
      return seen;
    });
  }
  for (size_t i = 0; i < served.size(); ++i) EXPECT_EQ(served[i], i % kPartitions);
}

TEST(FetchSession, ForgetsPartitionsAndUsesTheirSlotsAgain) {
  FetchSession session(true);
  const auto first = session.put("", kTopicId, PartitionIndex(0), {});
  const auto second = session.put("ignored", kTopicId, PartitionIndex(1), {});
  EXPECT_EQ(session.topics(), 1u);
  EXPECT_EQ(session.forget("also ignored", kTopicId, PartitionIndex(0)), first);
  EXPECT_EQ(session.forget("", kTopicId, PartitionIndex(0)), std::nullopt);
  EXPECT_EQ(session.due(), std::list{second});
  session.news(first);  // late
  session.news(1000);
  EXPECT_EQ(session.due(), std::list{second});
  EXPECT_EQ(session.put("", Uuid::from_random_bits(3, 4), PartitionIndex(0), {}), first);
  EXPECT_EQ(session.slots(), 2u);
  EXPECT_EQ(session.forget("", kTopicId, PartitionIndex(1)), second);
  EXPECT_EQ(session.topics(), 1u);
}

TEST(FetchSession, ATopicThatWasMadeAgainIsAnotherOneByIdAndTheSameByName) {
  FetchSession by_id(true);
  by_id.put("t", Uuid::from_random_bits(1, 1), PartitionIndex(0), {});
  by_id.put("t", Uuid::from_random_bits(2, 2), PartitionIndex(0), {});
  EXPECT_EQ(by_id.partitions(), 2u);
  FetchSession by_name(false);
  by_name.put("t", Uuid::from_random_bits(1, 1), PartitionIndex(0), {});
  by_name.put("t", Uuid::from_random_bits(2, 2), PartitionIndex(0), {});
  EXPECT_EQ(by_name.partitions(), 1u);
}

// Partitions that change at random, each change announced; a client that believes what it was told. After every answer
// the client must be right about all partitions, though it was told only of some.
TEST(FetchSession, AClientThatIsToldOnlyChangesKnowsAsMuchAsOneThatIsToldEverything) {
  struct Partition {
    int64_t high_watermark = 0;
    int64_t log_start = 0;
    bool failing = false;
    int64_t client_offset = 0;
    bool operator==(const Partition&) const = default;
  };
  struct Belief {
    int64_t high_watermark = -1;
    int64_t log_start = -1;
    bool failing = false;
  };
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&random](uint64_t n) { return random() % n; };
    constexpr int kPartitions = 20;
    FetchSession session(false);
    std::map<int, Partition> truth;
    std::map<int, Belief> belief;
    std::map<int, FetchSession::Slot> slots;
    size_t told_in_all = 0;
    size_t changes = 0;
    const auto announce = [&](int i) {
      ++changes;
      if (slots.contains(i)) session.news(slots.at(i));
    };
    for (int step = 0; step < 200; ++step) {
      for (uint64_t i = 0, count = below(4); i < count; ++i) {
        const int index = static_cast<int>(below(kPartitions));
        Partition& partition = truth[index];
        switch (below(5)) {
          case 0:
          case 1:
            partition.high_watermark += static_cast<int64_t>(1 + below(10));
            break;
          case 2:
            partition.log_start +=
                static_cast<int64_t>(below(static_cast<uint64_t>(partition.high_watermark - partition.log_start) + 1));
            break;
          case 3:
            partition.failing = !partition.failing;
            break;
          default:
            partition = {};  // deleted and made again
            break;
        }
        announce(index);
      }
      const int index = static_cast<int>(below(kPartitions));
      if (below(10) == 0) {
        const auto forgotten = session.forget("t", Uuid(), PartitionIndex(index));
        ASSERT_EQ(forgotten.has_value(), slots.contains(index));
        slots.erase(index);
        belief.erase(index);
      } else if (below(2) == 0) {
        slots[index] = put(session, "t", index, truth[index].client_offset);
        ++changes;
      }
      bool full = false;
      const auto told = fetch(session, [&](FetchSession::Slot slot) {
        const Partition& partition = truth.at(static_cast<int>(session.place(slot).index.value()));
        if (partition.failing) return FetchSeen{.error = ErrorCode::log_offline};
        const bool readable = partition.client_offset < partition.high_watermark;
        FetchSeen seen{.high_watermark = Offset(partition.high_watermark),
                       .log_start_offset = Offset(partition.log_start),
                       .more_to_read = readable};
        seen.has_records = readable && !std::exchange(full, true);
        return seen;
      });
      told_in_all += told.size();
      for (const FetchSession::Slot slot : told) {
        const int place = static_cast<int>(session.place(slot).index.value());
        const Partition& partition = truth.at(place);
        belief[place] = {partition.failing ? -1 : partition.high_watermark,
                         partition.failing ? -1 : partition.log_start, partition.failing};
        if (!partition.failing && below(2) == 0) {  // it has read the records and says so
          truth[place].client_offset = partition.high_watermark;
          slots[place] = put(session, "t", place, partition.high_watermark);
          ++changes;
        }
      }
      for (const auto& [place, slot] : slots) {
        const Partition& partition = truth.at(place);
        ASSERT_TRUE(belief.contains(place)) << place;
        ASSERT_EQ(belief[place].failing, partition.failing) << place;
        if (partition.failing) continue;
        ASSERT_EQ(belief[place].high_watermark, partition.high_watermark) << place;
        ASSERT_EQ(belief[place].log_start, partition.log_start) << place;
      }
    }
    EXPECT_GT(told_in_all, 0u);
  }
}

// In seconds rather than minutes: each is taken out of the middle of a long queue.
TEST(FetchSession, ForgetsManyPartitionsThatAreDueInAnyOrder) {
  constexpr int32_t kPartitions = 300'000;
  FetchSession session(false);
  for (int32_t i = 0; i < kPartitions; ++i) session.put("t", Uuid(), PartitionIndex(i), {});
  for (int32_t i = kPartitions - 1; i > 0; i -= 2) EXPECT_TRUE(session.forget("t", Uuid(), PartitionIndex(i)));
  for (int32_t i = 2; i < kPartitions; i += 2) EXPECT_TRUE(session.forget("t", Uuid(), PartitionIndex(i)));
  EXPECT_EQ(session.due(), std::list<FetchSession::Slot>{0});
  const FetchSession::Slot again = session.put("t", Uuid(), PartitionIndex(5), {});
  EXPECT_EQ(session.due(), (std::list<FetchSession::Slot>{0, again}));
}

}  // namespace
}  // namespace naru
