// Offsets that were committed in transactions which have not ended: what the log says of them.
//
// A marker makes them visible, in the order of markers. But the log is compacted by its own order, in which what counts
// for a partition is the last record that was not aborted. Where the two orders differ, an offset is *overtaken*: a
// record behind it in the log says something else about the partition, and counts already. Its marker alone does not
// bring an overtaken offset back, neither now nor in a replay; whoever writes the marker writes the offset once more
// before it. So a shard that reads the log, compacted or not, arrives at what the one before it had.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_records.h"
#include "record_format/transaction_marker.h"

namespace naru {

struct PendingOffset {
  ProducerIdentity producer;
  CommittedOffset committed;
  bool overtaken = false;
  bool operator==(const PendingOffset&) const = default;
};

// A value. Thread: the shard's strand. References are valid until the next change.
class PendingOffsets {
 public:
  // Of several transactions: in the order of the log, each of them once.
  using OfGroup = std::map<GroupPartition, std::vector<PendingOffset>>;

  // A record inside of a transaction. What the same transaction has said of the partition before is replaced.
  void stage(const ProducerIdentity& producer, const OffsetKey& key, CommittedOffset committed);
  // A record outside of transactions.
  void overtake(const OffsetKey& key);
  // A tombstone: whoever removes an offset removes all that is said about it.
  void drop(const OffsetKey& key);
  // A marker. Returns what it makes visible.
  std::vector<std::pair<OffsetKey, CommittedOffset>> end(ProducerId producer, TransactionResult result);

  bool contains(std::string_view group_id, const GroupPartition& partition) const;
  const OfGroup& of_group(std::string_view group_id) const;
  const std::map<std::string, OfGroup, std::less<>>& all() const { return groups_; }
  // What would be lost if the transaction were committed by its marker alone.
  std::vector<std::pair<OffsetKey, CommittedOffset>> overtaken_of(ProducerId producer) const;
  size_t count_of(ProducerId producer) const;
  size_t bytes() const { return bytes_; }  // about as much memory as they take
  // By how much stage() would change that, if it makes it larger.
  size_t growth_by(ProducerId producer, const OffsetKey& key, size_t metadata_bytes) const;

  bool operator==(const PendingOffsets& other) const { return groups_ == other.groups_; }

 private:
  // Takes it out; nothing if there is none. Before: how many entries of the partition came before it in the log.
  std::optional<PendingOffset> take(const OffsetKey& key, ProducerId producer, size_t& before);
  const PendingOffset* find(const OffsetKey& key, ProducerId producer) const;

  std::map<std::string, OfGroup, std::less<>> groups_;  // never an empty one
  std::map<ProducerId, std::set<OffsetKey>> by_producer_;
  size_t bytes_ = 0;
};

}  // namespace naru
