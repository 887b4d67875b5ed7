#include "log_storage/number_lines.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace naru {
namespace {

constexpr size_t kMaxFileSize = 4096;

std::optional<int64_t> take_number(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + end, value);
  if (problem != std::errc() || stop != text.data() + end) return std::nullopt;
  text.remove_prefix(end + 1);
  return value;
}

bool is_another_version(std::string_view found, std::string_view known) {
  return found != known && !found.empty() && found.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Result<NumberLines> read_number_lines(FileSystem& file_system, const std::string& path, std::string_view version,
                                      size_t count) {
  using Kind = NumberLines::Kind;
  const auto content = read_whole_file(file_system, path, kMaxFileSize);
  if (!content && content.error() == ErrorCode::not_found) return NumberLines{};
  if (!content && content.error() == ErrorCode::corrupt_data) return NumberLines{.kind = Kind::damaged, .numbers = {}};
  if (!content) return failure(content.error());
  std::string_view text = as_text(*content);
  const std::string_view found = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), found.size() + 1));
  if (is_another_version(found, version)) {
    return failure(ErrorCode::unsupported_format, "{} is of format {}, this Naru knows {}: start a newer version", path,
                   found, version);
  }
  NumberLines lines{.kind = Kind::damaged, .numbers = {}};
  while (lines.numbers.size() < count) {
    const auto number = take_number(text);
    if (!number) return lines;
    lines.numbers.push_back(*number);
  }
  if (found == version && text.empty()) lines.kind = Kind::whole;
  return lines;
}

}  // namespace naru
