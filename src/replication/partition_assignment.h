// What the controller has decided about a partition, and what its leader asks it to decide.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "foundation/ids.h"
#include "foundation/time.h"

namespace naru {

class Partition;

struct PartitionAssignment {
  BrokerId leader = kNoBroker;  // none: nobody may be chosen
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  int32_t partition_epoch = -1;    // grows with every change
  std::vector<BrokerId> replicas;  // the first one is the preferred leader
  std::vector<BrokerId> isr;

  bool is_newer_than(const PartitionAssignment& other) const {
    return leader_epoch != other.leader_epoch ? leader_epoch > other.leader_epoch
                                              : partition_epoch > other.partition_epoch;
  }
  bool operator==(const PartitionAssignment&) const = default;
};

// Another in-sync set. Counts only while the partition has these two epochs.
struct IsrProposal {
  struct Member {
    BrokerId id;
    int64_t broker_epoch = -1;  // -1: a member so far, of which this leader has not heard, or the leader itself
    bool operator==(const Member&) const = default;
  };
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  int32_t partition_epoch = -1;
  std::vector<Member> isr;

  bool operator==(const IsrProposal&) const = default;
};

// Before the controller is asked again after it refused or did not answer.
inline constexpr Duration kProposalBackoff = 250ms;

// What became of a proposal.
struct IsrAnswer {
  enum class Verdict : uint8_t {
    committed,  // the in-sync set is `isr` now
    refused,    // it was not done, and will not be: a member is not eligible, say
    unknown,    // no answer: it may have been done, or may still be
    overtaken,  // the partition's state is another one by now; it will be told by an assignment
  };
  Verdict verdict = Verdict::unknown;
  int32_t partition_epoch = -1;
  std::vector<BrokerId> isr;
};

// The way to the controller; implemented by the broker.
class IsrProposals {
 public:
  virtual ~IsrProposals() = default;
  // Called inside the partition's strand, so it only passes on. Partition::proposal_answered() has to follow.
  virtual void propose(std::shared_ptr<Partition> partition, IsrProposal proposal) = 0;
};

}  // namespace naru
