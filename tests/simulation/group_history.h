// What members of groups were told; checks that it fits together.
//
// Evidence of a generation is its assignment: a join that was answered and not followed by a sync may be forgotten in a
// crash, and its number is then given out again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "foundation/ids.h"
#include "simulation/history.h"

namespace naru::simulation {

class GroupHistory {
 public:
  struct Claim {
    std::string group;
    std::string member;
    int32_t generation = -1;
    bool is_past = false;                                // the member knows that its own generation is a later one
    std::optional<std::string> instance = std::nullopt;  // of a static member, whose id may change in a generation
    uint64_t asked_at = UINT64_MAX;                      // the moment() before the request that got the partition
  };
  // Orders what clients send and hear.
  uint64_t moment() { return ++moments_; }

  // What was known when a request was sent; a later answer is compared with it.
  struct Known {
    int32_t newest_generation = -1;
    std::string owner;
    bool may_own = false;  // the one who asks: it is the owner, or may be
    Offset acknowledged{-1};
  };

  // The coordinator gave this partition to this member. In a generation that all members share, nobody else may have
  // it.
  void assigned(const Claim& claim, const PartitionName& partition);
  Known known(const Claim& claim, const PartitionName& partition) const;
  // From here on the offset may be the committed one.
  void commit_sent(const Claim& claim, const PartitionName& partition, Offset offset);
  void commit_acknowledged(const Claim& claim, const PartitionName& partition, Offset offset, const Known& when_sent);
  // What somebody was told when asking for the committed offset; -1: none.
  void fetched(const std::string& group, const PartitionName& partition, Offset offset, const Known& when_sent);

  // Somebody has seen that the group is of the classic or of the consumer protocol now.
  enum class Protocol : uint8_t { classic, consumer };
  void seen_as(const std::string& group, Protocol protocol);

  const std::optional<std::string>& violation() const { return violation_; }
  size_t assignments() const { return assignments_; }
  size_t commits() const { return commits_; }
  size_t conversions() const { return conversions_; }

 private:
  struct Position {
    Offset acknowledged{-1};
    Offset attempted{-1};
  };
  struct Owner {
    std::string member;
    std::optional<std::string> instance;
    uint64_t heard_at = 0;       // a moment()
    std::set<std::string> also;  // whose answers were on their way at the same time: one of them may be the last
    // The group had no offsets then: it may have been forgotten since, and have begun anew with the same generation.
    bool may_be_of_an_earlier_group = false;
  };
  void violated(std::string sentence);

  std::map<std::string, int32_t> newest_generation_;
  std::map<std::tuple<std::string, int32_t, PartitionName>, Owner> owners_;
  std::map<std::pair<std::string, PartitionName>, Position> positions_;
  std::set<std::string> groups_with_offsets_;
  size_t assignments_ = 0;
  size_t commits_ = 0;
  uint64_t moments_ = 0;
  std::map<std::string, Protocol> protocols_;
  size_t conversions_ = 0;
  std::optional<std::string> violation_;
};

}  // namespace naru::simulation
