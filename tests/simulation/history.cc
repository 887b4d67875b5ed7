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

void History::violated(std::string sentence) {
  if (!violation_) violation_ = std::move(sentence);
}

void History::sent(const PartitionName& partition, int producer, const std::vector<std::string>& values) {
  uint64_t& number = next_number_[{partition, producer}];
  for (const std::string& value : values) sent_.emplace(value, Origin{partition, producer, next_order_++, number++});
}

void History::acknowledged(const PartitionName& partition, Offset base, const std::vector<std::string>& values) {
  Log& log = logs_[partition];
  for (size_t i = 0; i < values.size(); ++i) {
    const Offset offset = base + static_cast<int64_t>(i);
    must_agree(partition, "acknowledged twice", log.promised, offset, values[i]);
    must_agree(partition, "acknowledged where another record was seen", log.observed, offset, values[i]);
    log.promised.emplace(offset, values[i]);
  }
  acknowledged_count_ += values.size();
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

void History::power_was_cut() {
  if (promise_ == Promise::until_power_cut) logs_.clear();
}

void History::must_agree(const PartitionName& partition, const char* what, const std::map<Offset, std::string>& known,
                         Offset offset, const std::string& value) {
  const auto found = known.find(offset);
  if (found != known.end() && found->second != value) {
    violated(fmt::format("{} at {}: {}: '{}' and '{}'", name_of(partition), offset, what, found->second, value));
  }
}

void History::final_content(const PartitionName& partition, Offset start,
                            const std::vector<std::pair<Offset, std::string>>& records) {
  Offset expected = start;
  std::set<std::string> values;
  for (const auto& [offset, value] : records) {
    if (offset != expected) violated(fmt::format("{}: offset {} follows {}", name_of(partition), offset, expected - 1));
    expected = offset + 1;
    seen(partition, offset, value);
    if (!values.insert(value).second)
      violated(fmt::format("{} at {}: '{}' is there twice", name_of(partition), offset, value));
  }
  const Log& log = logs_[partition];
  for (const auto* known : {&log.promised, &log.observed}) {
    if (!known->empty() && known->rbegin()->first >= expected) {
      violated(fmt::format("{}: '{}' was {} at {}, but the log ends at {}", name_of(partition), known->rbegin()->second,
                           known == &log.promised ? "acknowledged" : "read", known->rbegin()->first, expected));
    }
  }
  check_order(partition, records);
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
  if (origin.number != before + 1) {
    violated(fmt::format("{} at {}: '{}' is number {} of its producer, and {} is before it", name_of(partition), offset,
                         value, origin.number, before));
  }
}

}  // namespace naru::simulation
