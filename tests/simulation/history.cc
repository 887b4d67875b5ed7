#include "simulation/history.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace naru::simulation {
namespace {
std::string name_of(const PartitionName& partition) {
  return fmt::format("{}-{}", partition.first, partition.second);
}
}  // namespace

std::string key_of(const std::string& value) {
  // Values are "producer.number...": the number decides.
  constexpr int kKeys = 12;
  int number = 0;
  for (size_t i = value.find('.') + 1; i < value.size() && value[i] >= '0' && value[i] <= '9'; ++i) {
    number = (number * 10 + (value[i] - '0')) % kKeys;
  }
  return fmt::format("k{}", number);
}

// Behind the number, so that the key is the same.
bool is_deletion(const std::string& value) {
  return value.ends_with(kDeletionHeader);
}
std::string deletion(const std::string& value) {
  return value + "." + std::string(kDeletionHeader);
}

void History::violated(std::string sentence) {
  if (!violation_) violation_ = std::move(sentence);
}

void History::sent(const PartitionName& partition, int producer, const std::vector<std::string>& values) {
  uint64_t& number = next_number_[{partition, producer}];
  for (const std::string& value : values) {
    sent_.emplace(value, Origin{partition, producer, next_order_++, number++});
    if (is_deletion(value)) deleted_keys_.emplace(partition, key_of(value));
  }
}

void History::acknowledged(const PartitionName& partition, Offset base, const std::vector<std::string>& values) {
  Log& log = logs_[partition];
  for (size_t i = 0; i < values.size(); ++i) {
    const Offset offset = base + static_cast<int64_t>(i);
    must_agree(partition, "acknowledged twice", log.promised, offset, values[i]);
    must_agree(partition, "acknowledged where another record was seen", log.observed, offset, values[i]);
    log.promised.emplace(offset, values[i]);
    note_place(partition, log, offset, values[i]);
  }
  acknowledged_count_ += values.size();
}

Offset History::promised_end(const PartitionName& partition) const {
  const auto log = logs_.find(partition);
  return log == logs_.end() || log->second.promised.empty() ? Offset(0) : log->second.promised.rbegin()->first + 1;
}

void History::refused(const std::vector<std::string>& values) {
  refused_.insert(values.begin(), values.end());
}

void History::seen(const PartitionName& partition, Offset offset, const std::string& value) {
  ++seen_count_;
  Log& log = logs_[partition];
  must_agree(partition, "read differently than acknowledged", log.promised, offset, value);
  must_agree(partition, "read twice, differently", log.observed, offset, value);
  log.observed.emplace(offset, value);
  note_place(partition, log, offset, value);
  const auto origin = sent_.find(value);
  if (origin == sent_.end()) {
    violated(fmt::format("{} at {}: '{}' was never sent", name_of(partition), offset, value));
  } else if (origin->second.partition != partition) {
    violated(fmt::format("{} at {}: '{}' was sent to {}", name_of(partition), offset, value,
                         name_of(origin->second.partition)));
  }
  if (refused_.contains(value)) violated(fmt::format("{} at {}: '{}' was refused", name_of(partition), offset, value));
}

void History::high_watermark(const PartitionName& partition, Offset floor_when_asked, Offset offset) {
  if (offset < floor_when_asked) {
    violated(
        fmt::format("{}: the high watermark went back from {} to {}", name_of(partition), floor_when_asked, offset));
  }
  Log& log = logs_[partition];
  log.high_watermark = std::max(log.high_watermark, offset);
}

void History::high_watermark(const PartitionName& partition, const Leadership& leader, Offset floor_when_asked,
                             Offset offset) {
  if (offset < floor_when_asked) {
    violated(fmt::format("{}: the high watermark of leader epoch {} went back from {} to {}", name_of(partition),
                         leader.epoch, floor_when_asked, offset));
  }
  Offset& highest = logs_[partition].of_leaders[leader];
  highest = std::max(highest, offset);
}

void History::power_was_cut(const SyncedEnds& synced) {
  if (promise_ != Promise::until_power_cut) return;
  for (auto& [partition, log] : logs_) {
    const auto end = synced.find(partition);
    const Offset kept = end == synced.end() ? Offset(0) : end->second;
    for (auto* known : {&log.promised, &log.observed}) known->erase(known->lower_bound(kept), known->end());
    std::erase_if(log.places, [kept](const auto& place) { return place.second >= kept; });
    log.high_watermark = std::min(log.high_watermark, kept);
    log.of_leaders.clear();
    log.epoch_ends.clear();
  }
}

void History::note_place(const PartitionName& partition, Log& log, Offset offset, const std::string& value) {
  const auto [place, first] = log.places.try_emplace(value, offset);
  if (first || place->second == offset) return;
  violated(fmt::format("{}: '{}' is at {}, and was at {}", name_of(partition), value, offset, place->second));
}

void History::epoch_end(const PartitionName& partition, LeaderEpoch asked, const EpochEnd& told) {
  const auto [known, first] = logs_[partition].epoch_ends.try_emplace(asked, told);
  // What begins the log may be removed, and with it the epochs that ended there.
  if (first || cleanup_ == Cleanup::remove || known->second == told) return;
  // A replica that has more of the epoch may be elected as long as nothing of a later one is committed: what was below
  // the end stays.
  if (told.end > known->second.end) {
    known->second = told;
    return;
  }
  violated(fmt::format("{}: leader epoch {} ended in epoch {} at {}, and now in epoch {} at {}", name_of(partition),
                       asked, known->second.epoch, known->second.end, told.epoch, told.end));
}

void History::must_agree(const PartitionName& partition, const char* what, const std::map<Offset, std::string>& known,
                         Offset offset, const std::string& value) {
  const auto found = known.find(offset);
  if (found != known.end() && found->second != value) {
    violated(fmt::format("{} at {}: {}: '{}' and '{}'", name_of(partition), offset, what, found->second, value));
  }
}

Offset History::log_start_floor(const PartitionName& partition, LeaderEpoch epoch) {
  Offset floor{0};
  for (const auto& [of_epoch, told] : log_starts_[partition]) {
    if (of_epoch <= epoch) floor = std::max(floor, told);
  }
  return floor;
}

void History::log_start(const PartitionName& partition, LeaderEpoch epoch, Offset floor_when_asked, Offset offset) {
  if (offset < floor_when_asked) {
    violated(fmt::format("{}: the log start went back from {} to {}", name_of(partition), floor_when_asked, offset));
  }
  if (cleanup_ != Cleanup::remove && offset > Offset(0)) {
    violated(fmt::format("{}: the log starts at {} although nothing is to be removed", name_of(partition), offset));
  }
  Offset& highest = log_starts_[partition][epoch];
  highest = std::max(highest, offset);
}

void History::final_content(const PartitionName& partition, Offset start, Offset end,
                            const std::vector<std::pair<Offset, std::string>>& records) {
  std::set<std::string> values;
  for (const auto& [offset, value] : records) {
    seen(partition, offset, value);
    if (!values.insert(value).second)
      violated(fmt::format("{} at {}: '{}' is there twice", name_of(partition), offset, value));
  }
  if (cleanup_ == Cleanup::compact) {
    check_compacted(partition, start, records);
    check_deleted(partition, records);
  } else {
    check_gaps(partition, start, end, records);
  }
  const Log& log = logs_[partition];
  for (const auto* known : {&log.promised, &log.observed}) {
    if (!known->empty() && known->rbegin()->first >= end) {
      violated(fmt::format("{}: '{}' was {} at {}, but the log ends at {}", name_of(partition), known->rbegin()->second,
                           known == &log.promised ? "acknowledged" : "read", known->rbegin()->first, end));
    }
  }
  check_order(partition, records);
}

void History::check_gaps(const PartitionName& partition, Offset start, Offset end,
                         const std::vector<std::pair<Offset, std::string>>& records) {
  Offset expected = start;
  for (const auto& [offset, value] : records) {
    if (offset != expected) violated(fmt::format("{}: offset {} follows {}", name_of(partition), offset, expected - 1));
    expected = offset + 1;
  }
  if (expected != end)
    violated(fmt::format("{}: nothing at {}, the log ends at {}", name_of(partition), expected, end));
}

void History::check_compacted(const PartitionName& partition, Offset start,
                              const std::vector<std::pair<Offset, std::string>>& records) {
  std::map<std::string, Offset> newest;
  std::set<Offset> there;
  Offset last = start - 1;
  for (const auto& [offset, value] : records) {
    if (offset <= last) violated(fmt::format("{}: offset {} follows {}", name_of(partition), offset, last));
    last = offset;
    there.insert(offset);
    newest[key_of(value)] = offset;
  }
  const Log& log = logs_[partition];
  for (const auto* known : {&log.promised, &log.observed}) {
    for (const auto& [offset, value] : *known) {
      const auto later = newest.find(key_of(value));
      if (there.contains(offset) || (later != newest.end() && later->second > offset)) continue;
      // It and what it deletes go when they are old; it need not have been promised.
      if (deleted_keys_.contains({partition, key_of(value)})) continue;
      violated(fmt::format("{} at {}: '{}' is gone, and there is no later record of its key", name_of(partition),
                           offset, value));
    }
  }
}

void History::check_deleted(const PartitionName& partition,
                            const std::vector<std::pair<Offset, std::string>>& records) {
  std::map<std::string, Offset> last;  // of each key that is there
  for (const auto& [offset, value] : records) last[key_of(value)] = offset;
  const Log& log = logs_[partition];
  for (const auto* known : {&log.promised, &log.observed}) {
    for (const auto& [offset, value] : *known) {
      const auto left = is_deletion(value) ? last.find(key_of(value)) : last.end();
      if (left == last.end() || left->second >= offset) continue;
      violated(fmt::format("{} at {}: key {} was deleted at {}, and is there again", name_of(partition), left->second,
                           key_of(value), offset));
    }
  }
}

// What one producer sent over one partition is in the log in the order in which it was sent, with gaps for what got
// lost.
void History::check_order(const PartitionName& partition, const std::vector<std::pair<Offset, std::string>>& records) {
  std::map<int, uint64_t> newest;
  std::map<int, uint64_t> newest_number;
  for (const auto& [offset, value] : records) {
    const auto origin = sent_.find(value);
    if (origin == sent_.end()) continue;
    auto [at, first] = newest.try_emplace(origin->second.producer, origin->second.order);
    if (!first && origin->second.order < at->second) {
      violated(fmt::format("{} at {}: '{}' comes behind a record that its producer sent later", name_of(partition),
                           offset, value));
    }
    at->second = std::max(at->second, origin->second.order);
    check_gap(partition, offset, value, origin->second, newest_number);
  }
}

void History::check_gap(const PartitionName& partition, Offset offset, const std::string& value, const Origin& origin,
                        std::map<int, uint64_t>& newest_number) {
  const auto [at, first] = newest_number.try_emplace(origin.producer, origin.number);
  const uint64_t before = std::exchange(at->second, origin.number);
  if (first || promise_ != Promise::durable || !gapless_.contains(origin.producer)) return;
  if (cleanup_ == Cleanup::compact) return;
  if (origin.number != before + 1) {
    violated(fmt::format("{} at {}: '{}' is number {} of its producer, and {} is before it", name_of(partition), offset,
                         value, origin.number, before));
  }
}

}  // namespace naru::simulation
