#include "log_storage/directory_identity.h"

#include <charconv>
#include <optional>

namespace naru {
namespace {

constexpr std::string_view kFormatKey = "naru.data.format";
constexpr std::string_view kNodeKey = "node.id";
constexpr std::string_view kDirectoryKey = "directory.id";
constexpr std::string_view kClusterKey = "cluster.id";
constexpr std::string_view kBrokerEpochKey = "broker.epoch";

// The value of the first line "key=value".
std::optional<std::string_view> find_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(key) && line.substr(key.size()).starts_with('=')) return line.substr(key.size() + 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

template <class Number>
std::optional<Number> find_number(std::string_view text, std::string_view key) {
  const auto value = find_value(text, key);
  if (!value) return std::nullopt;
  Number number = 0;
  const auto [end, problem] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (problem != std::errc() || end != value->data() + value->size()) return std::nullopt;
  return number;
}

}  // namespace

std::string format_identity(const DirectoryIdentity& identity) {
  std::string text =
      fmt::format("# The identity of this data folder. Do not edit, and do not copy to another folder.\n");
  text += fmt::format("{}={}\n{}={}\n{}={}\n", kFormatKey, kDataFormatVersion, kNodeKey, identity.node_id,
                      kDirectoryKey, identity.directory_id.to_string());
  if (!identity.cluster_id.is_zero()) text += fmt::format("{}={}\n", kClusterKey, identity.cluster_id.to_string());
  if (identity.broker_epoch >= 0) text += fmt::format("{}={}\n", kBrokerEpochKey, identity.broker_epoch);
  return text;
}

Result<DirectoryIdentity> parse_identity(std::string_view text, const std::string& folder) {
  const auto damaged = [&](std::string_view key) {
    return failure(ErrorCode::corrupt_data,
                   "{}/{} is damaged: it has no valid {}. Restore the file, or give another folder (log.dirs).", folder,
                   kIdentityFileName, key);
  };
  const auto format = find_number<int32_t>(text, kFormatKey);
  if (!format) return damaged(kFormatKey);
  if (*format < kOldestDataFormatVersion || *format > kDataFormatVersion) {
    return failure(
        ErrorCode::unsupported_format,
        "The data folder {} has data format {}, this Naru reads formats {} to {}. Start the version of Naru that "
        "wrote it, or a later one; the data has not been touched.",
        folder, *format, kOldestDataFormatVersion, kDataFormatVersion);
  }
  const auto node = find_number<int32_t>(text, kNodeKey);
  if (!node) return damaged(kNodeKey);
  const auto directory_id = find_value(text, kDirectoryKey).and_then(Uuid::parse);
  if (!directory_id) return damaged(kDirectoryKey);
  DirectoryIdentity identity{.node_id = BrokerId(*node), .directory_id = *directory_id, .data_format = *format};
  if (const auto cluster = find_value(text, kClusterKey)) {
    const auto id = Uuid::parse(*cluster);
    if (!id) return damaged(kClusterKey);
    identity.cluster_id = *id;
  }
  if (find_value(text, kBrokerEpochKey)) {
    const auto epoch = find_number<int64_t>(text, kBrokerEpochKey);
    if (!epoch || *epoch < 0) return damaged(kBrokerEpochKey);
    identity.broker_epoch = *epoch;
  }
  return identity;
}

}  // namespace naru
