#include "simulation/copy_history.h"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

namespace naru::simulation {
namespace {

std::string place(const PartitionName& partition, Offset offset) {
  return fmt::format("{}-{} at {}", partition.first, partition.second, offset);
}

std::optional<uint64_t> read_number(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// The numbers of the records, or of the copies among them.
std::vector<std::pair<uint64_t, Offset>> numbers_of(const CopyHistory::Records& records, bool copies_only) {
  std::vector<std::pair<uint64_t, Offset>> numbers;
  for (const auto& [offset, text] : records) {
    const auto value = CopiedValue::parse(text);
    if (!value || (copies_only && value->transaction == CopiedValue::kNoTransaction)) continue;
    numbers.emplace_back(value->number, offset);
  }
  return numbers;
}

}  // namespace

std::string CopiedValue::to_string(size_t padding) const {
  return fmt::format("{}/{}{}", number, transaction, std::string(padding, '.'));
}

std::optional<CopiedValue> CopiedValue::parse(std::string_view text) {
  const auto number = read_number(text);
  if (!number || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  const auto transaction = read_number(text);
  if (!transaction) return std::nullopt;
  return CopiedValue{.number = *number, .transaction = *transaction};
}

void CopyHistory::violated(std::string sentence) {
  if (!violation_) violation_ = std::move(sentence);
}

void CopyHistory::sent(uint64_t transaction, const PartitionName& partition, const std::string& value) {
  copied_[transaction].values[value] = partition;
}

void CopyHistory::committed(uint64_t transaction) {
  copied_[transaction].committed = true;
  ++commits_;
}

void CopyHistory::seen(const PartitionName& partition, Offset offset, const std::string& value) {
  const auto [known, is_new] = seen_[partition].try_emplace(offset, value);
  if (known->second != value) {
    violated(fmt::format("{}: readers of committed records saw '{}' and '{}'", place(partition, offset), known->second,
                         value));
  }
  if (is_new) check_origin(partition, offset, value);
}

void CopyHistory::check_origin(const PartitionName& partition, Offset offset, const std::string& text) {
  const auto value = CopiedValue::parse(text);
  if (!value) return violated(fmt::format("{}: '{}' was never sent", place(partition, offset), text));
  if (value->transaction == CopiedValue::kNoTransaction) {
    const auto source = sources_.find(text);
    if (source == sources_.end() || source->second.partition != partition) {
      violated(fmt::format("{}: '{}' was never sent there", place(partition, offset), text));
    }
    return;
  }
  const Transaction& transaction = copied_[value->transaction];
  const auto sent = transaction.values.find(text);
  if (sent == transaction.values.end() || sent->second != partition) {
    violated(fmt::format("{}: '{}' was never sent there", place(partition, offset), text));
  } else if (!transaction.commit_asked) {
    violated(fmt::format("{}: a reader of committed records got '{}', and nobody has asked to commit its transaction",
                         place(partition, offset), text));
  }
}

void CopyHistory::stable(const PartitionName& partition, Offset last_stable, Offset read_to) {
  if (read_to <= last_stable) return;
  violated(fmt::format("{}: records up to there were returned, the last stable offset is {}",
                       place(partition, read_to - 1), last_stable));
}

void CopyHistory::final_content(const PartitionName& partition, const Records& records) {
  for (const auto& [offset, value] : records) seen(partition, offset, value);
  const std::map<Offset, std::string> there(records.begin(), records.end());
  for (const auto& [offset, value] : seen_[partition]) {
    if (!there.contains(offset))
      violated(fmt::format("{}: '{}' was read, and is gone", place(partition, offset), value));
  }
  final_[partition] = records;
}

void CopyHistory::check_chain(const std::vector<std::string>& chain, int partitions) {
  for (int index = 0; index < partitions; ++index) {
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      check_copies({chain[i], PartitionIndex(index)}, {chain[i + 1], PartitionIndex(index)});
    }
  }
  check_sources();
  check_whole();
}

void CopyHistory::check_copies(const PartitionName& from, const PartitionName& to) {
  const auto originals = numbers_of(final_[from], false);
  const auto copies = numbers_of(final_[to], true);
  const auto [original, copy] = std::ranges::mismatch(originals, copies, {}, &std::pair<uint64_t, Offset>::first,
                                                      &std::pair<uint64_t, Offset>::first);
  if (original == originals.end() && copy == copies.end()) return;
  const auto name = [](const auto& at, const auto& end, const PartitionName& partition) {
    return at == end ? fmt::format("nothing in {}-{}", partition.first, partition.second)
                     : fmt::format("number {} ({})", at->first, place(partition, at->second));
  };
  violated(
      fmt::format("the copies are not the originals: {} of {} and {} of {} records are the same, then {} became {}",
                  original - originals.begin(), originals.size(), copy - copies.begin(), copies.size(),
                  name(original, originals.end(), from), name(copy, copies.end(), to)));
}

void CopyHistory::check_sources() {
  std::set<std::string> there;
  for (const auto& [partition, records] : final_) {
    for (const auto& [offset, value] : records) there.insert(value);
  }
  for (const auto& [value, source] : sources_) {
    if (!source.acknowledged || there.contains(value)) continue;
    violated(fmt::format("'{}' was acknowledged, and is not in {}-{}", value, source.partition.first,
                         source.partition.second));
  }
}

void CopyHistory::check_whole() {
  std::map<uint64_t, std::set<std::string>> visible;
  for (const auto& [partition, records] : final_) {
    for (const auto& [offset, text] : records) {
      if (const auto value = CopiedValue::parse(text)) visible[value->transaction].insert(text);
    }
  }
  for (const auto& [number, transaction] : copied_) {
    const size_t count = visible[number].size();
    const bool is_whole =
        transaction.refused ? count == 0 : count == transaction.values.size() || (count == 0 && !transaction.committed);
    if (is_whole) continue;
    violated(fmt::format("transaction {}, which {}: {} of its {} records are visible", number,
                         transaction.committed ? "is committed"
                         : transaction.refused ? "was refused"
                                               : "may be committed",
                         count, transaction.values.size()));
  }
}

}  // namespace naru::simulation
