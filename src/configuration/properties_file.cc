#include "configuration/properties_file.h"

#include <algorithm>
#include <optional>

namespace naru {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_separator(char c) {
  return c == '=' || c == ':';
}

// A line that may span several lines of the file, with the continuations joined and the escapes still in it.
struct LogicalLine {
  std::string text;
  int line = 0;
};

class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  // The next line that is neither blank nor a comment.
  std::optional<LogicalLine> next() {
    while (!rest_.empty()) {
      LogicalLine logical{{}, line_ + 1};
      std::string_view line = take_line();
      if (line.empty() || line.front() == '#' || line.front() == '!') continue;
      while (ends_with_open_backslash(line)) {
        logical.text += line.substr(0, line.size() - 1);
        line = rest_.empty() ? std::string_view() : take_line();
      }
      logical.text += line;
      return logical;
    }
    return std::nullopt;
  }

 private:
  // Without the leading blanks and the line end (\n, \r\n or \r).
  std::string_view take_line() {
    const size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    std::string_view line = rest_.substr(0, end);
    const bool two = rest_.substr(end).starts_with("\r\n");
    rest_.remove_prefix(std::min(rest_.size(), end + (two ? 2 : 1)));
    ++line_;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }

  static bool ends_with_open_backslash(std::string_view line) {
    const size_t last_other = line.find_last_not_of('\\');
    const size_t backslashes = line.size() - (last_other == std::string_view::npos ? 0 : last_other + 1);
    return backslashes % 2 == 1;
  }

  std::string_view rest_;
  int line_ = 0;
};

// Position behind the key: the first blank or separator that no backslash protects.
size_t key_length(std::string_view text) {
  size_t i = 0;
  for (; i < text.size() && !is_blank(text[i]) && !is_separator(text[i]); ++i) {
    if (text[i] == '\\') ++i;
  }
  return std::min(i, text.size());
}

std::string_view without_separator(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!text.empty() && is_separator(text.front())) text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

// Trailing blanks go, except for one that a backslash protects.
std::string_view without_trailing_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.back()) && !(text.size() >= 2 && text[text.size() - 2] == '\\')) {
    text.remove_suffix(1);
  }
  return text;
}

Result<std::string> unescape(std::string_view text, int line) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    const char escaped = text[++i];
    switch (escaped) {
      case 't':
        plain += '\t';
        break;
      case 'n':
        plain += '\n';
        break;
      case 'r':
        plain += '\r';
        break;
      case 'u':
        return failure(ErrorCode::invalid_argument,
                       "line {}: \\u escapes are not supported; write the character as UTF-8", line);
      default:
        plain += escaped;
    }
  }
  return plain;
}

}  // namespace

Result<std::vector<Property>> parse_properties(std::string_view text) {
  if (text.size() > kMaxPropertiesBytes) {
    return failure(ErrorCode::invalid_argument, "the file has {} bytes, more than {}", text.size(),
                   kMaxPropertiesBytes);
  }
  if (text.find('\0') != std::string_view::npos) {
    return failure(ErrorCode::invalid_argument, "the file contains a zero byte: it is not a text file");
  }
  std::vector<Property> properties;
  LineReader lines(text);
  while (const auto logical = lines.next()) {
    const std::string_view whole = logical->text;
    const size_t length = key_length(whole);
    Property& property = properties.emplace_back();
    property.line = logical->line;
    NARU_TRY_ASSIGN(property.key, unescape(whole.substr(0, length), logical->line));
    NARU_TRY_ASSIGN(property.value,
                    unescape(without_trailing_blanks(without_separator(whole.substr(length))), logical->line));
    if (property.key.empty()) {
      return failure(ErrorCode::invalid_argument, "line {}: there is no key before the separator", property.line);
    }
  }
  return properties;
}

}  // namespace naru
