// What clients were told and what they saw; checks that it fits together. Values are unique, so most checks are
// look-ups.
//
// Outcomes are ok, failed or unknown. A request without an answer is unknown, never failed: its records may be in the
// log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/ids.h"

namespace naru::simulation {

using PartitionName = std::pair<std::string, PartitionIndex>;

// Kafka's looser rule (flush.messages > 1) allows a power cut to take back what was promised and seen.
enum class Promise : uint8_t { durable, until_power_cut };

// What the broker may do to old records: nothing, remove them from the start on, or keep the last one of each key.
enum class Cleanup : uint8_t { none, remove, compact };

// The key under which a value is sent: a few, so that compaction has something to do.
std::string key_of(const std::string& value);

// The deletion of a key has a name where others have a value: it stands in a header, because its value is null.
inline constexpr std::string_view kDeletionHeader = "deletion";
bool is_deletion(const std::string& value);
std::string deletion(const std::string& value);

class History {
 public:
  explicit History(Promise promise, Cleanup cleanup = Cleanup::none) : promise_(promise), cleanup_(cleanup) {}

  // A producer hands its values to the connection in this order.
  void sent(const PartitionName& partition, int producer, const std::vector<std::string>& values);
  // What this producer sent to a partition is there without gaps, as far as it is there. Not after a power cut that
  // may take back what was promised.
  void expect_no_gaps(int producer) { gapless_.insert(producer); }
  // The broker promised them at these offsets.
  void acknowledged(const PartitionName& partition, Offset base, const std::vector<std::string>& values);
  // Everything that was acknowledged is below it.
  Offset promised_end(const PartitionName& partition) const;
  // The broker refused them for good: they must never appear.
  void refused(const std::vector<std::string>& values);
  // A reader got this record.
  void seen(const PartitionName& partition, Offset offset, const std::string& value);
  // The highest high watermark that anybody was told so far: what is asked for from now on must not be answered with
  // less.
  Offset high_watermark_floor(const PartitionName& partition) { return logs_[partition].high_watermark; }
  void high_watermark(const PartitionName& partition, Offset floor_when_asked, Offset offset);
  // The same for what a leader says beside records: after an election or a restart it may begin with less than was told
  // before, and then it has to say that it does not know wherever that would matter. So it is the same leader's only
  // over one connection.
  struct Leadership {
    LeaderEpoch epoch;
    uint64_t connection = 0;
    auto operator<=>(const Leadership&) const = default;
  };
  Offset high_watermark_floor(const PartitionName& partition, const Leadership& leader) {
    return logs_[partition].of_leaders[leader];
  }
  void high_watermark(const PartitionName& partition, const Leadership& leader, Offset floor_when_asked, Offset offset);

  // The same for the start of a log, which nothing may take back.
  // The highest start that a leader of this epoch or an earlier one has told: one that was replaced and does not know
  // it tells what it knows.
  Offset log_start_floor(const PartitionName& partition, LeaderEpoch epoch = LeaderEpoch(INT32_MAX));
  void log_start(const PartitionName& partition, LeaderEpoch epoch, Offset floor_when_asked, Offset offset);

  // The last offset of `epoch` or of the one before it, as a leader of a later epoch tells it: it never goes back.
  struct EpochEnd {
    LeaderEpoch epoch;
    Offset end;
    auto operator<=>(const EpochEnd&) const = default;
  };
  void epoch_end(const PartitionName& partition, LeaderEpoch asked, const EpochEnd& told);

  // With the loose rule, what lies below these ends was synced, and stays; everything else may be gone.
  using SyncedEnds = std::map<PartitionName, Offset>;
  void power_was_cut(const SyncedEnds& synced);

  // After everything is healed: the whole content of a partition from `start` to `end`.
  void final_content(const PartitionName& partition, Offset start, Offset end,
                     const std::vector<std::pair<Offset, std::string>>& records);

  // The first thing that does not fit; none: all is well.
  const std::optional<std::string>& violation() const { return violation_; }
  size_t acknowledged_count() const { return acknowledged_count_; }
  size_t seen_count() const { return seen_count_; }

 private:
  struct Log {
    std::map<Offset, std::string> promised;
    std::map<Offset, std::string> observed;
    Offset high_watermark{0};
    std::map<Leadership, Offset> of_leaders;  // high watermarks
    std::map<std::string, Offset> places;     // where each value was acknowledged or seen
    std::map<LeaderEpoch, EpochEnd> epoch_ends;
  };
  struct Origin {
    PartitionName partition;
    int producer;
    uint64_t order;
    uint64_t number;  // among those of this producer to this partition
  };

  void violated(std::string sentence);
  void must_agree(const PartitionName& partition, const char* what, const std::map<Offset, std::string>& known,
                  Offset offset, const std::string& value);
  // No value has two places, also when the first of them is gone.
  void note_place(const PartitionName& partition, Log& log, Offset offset, const std::string& value);
  void check_gaps(const PartitionName& partition, Offset start, Offset end,
                  const std::vector<std::pair<Offset, std::string>>& records);
  // Each record that was promised or seen is there, or a later one of its key.
  void check_compacted(const PartitionName& partition, Offset start,
                       const std::vector<std::pair<Offset, std::string>>& records);
  // A key whose deletion was promised or seen has no earlier record, if nothing is left of the deletion.
  void check_deleted(const PartitionName& partition, const std::vector<std::pair<Offset, std::string>>& records);
  void check_order(const PartitionName& partition, const std::vector<std::pair<Offset, std::string>>& records);

  void check_gap(const PartitionName& partition, Offset offset, const std::string& value, const Origin& origin,
                 std::map<int, uint64_t>& newest_number);

  const Promise promise_;
  const Cleanup cleanup_;
  std::map<PartitionName, Log> logs_;
  std::map<PartitionName, std::map<LeaderEpoch, Offset>> log_starts_;
  std::map<std::string, Origin> sent_;
  std::set<std::string> refused_;
  std::set<std::pair<PartitionName, std::string>> deleted_keys_;  // somebody has sent a deletion
  uint64_t next_order_ = 0;
  std::map<std::pair<PartitionName, int>, uint64_t> next_number_;
  std::set<int> gapless_;
  size_t acknowledged_count_ = 0;
  size_t seen_count_ = 0;
  std::optional<std::string> violation_;
};

}  // namespace naru::simulation
