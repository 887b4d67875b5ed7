#include "command_line/json_text.h"

#include <cmath>

#include <fmt/core.h>

#include "command_line/units.h"
#include "foundation/assert.h"

namespace naru::command_line {
namespace {

constexpr size_t kIndent = 2;
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void append_escaped(std::string& to, char character) {
  switch (character) {
    case '"':
      to += "\\\"";
      return;
    case '\\':
      to += "\\\\";
      return;
    case '\n':
      to += "\\n";
      return;
    case '\t':
      to += "\\t";
      return;
    case '\r':
      to += "\\r";
      return;
    default:
      if (static_cast<unsigned char>(character) < 0x20) {
        to += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
      } else {
        to += character;
      }
  }
}

}  // namespace

void JsonText::new_line() {
  if (layout_ == Layout::one_line) return;
  text_ += '\n';
  text_.append(has_elements_.size() * kIndent, ' ');
}

void JsonText::before_value() {
  if (std::exchange(after_key_, false) || has_elements_.empty()) return;
  if (has_elements_.back()) text_ += ',';
  has_elements_.back() = true;
  new_line();
}

JsonText& JsonText::key(std::string_view name) {
  value(name);
  text_ += layout_ == Layout::one_line ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonText& JsonText::open(char bracket) {
  before_value();
  text_ += bracket;
  has_elements_.push_back(false);
  return *this;
}

JsonText& JsonText::close(char bracket) {
  const bool had_elements = has_elements_.back();
  has_elements_.pop_back();
  if (had_elements) new_line();
  text_ += bracket;
  return *this;
}

JsonText& JsonText::raw(std::string_view text) {
  before_value();
  text_ += text;
  return *this;
}

JsonText& JsonText::value(bool flag) {
  return raw(flag ? "true" : "false");
}

JsonText& JsonText::value(double number) {
  return raw(std::isfinite(number) ? fmt::format("{:.6g}", number) : "null");
}

JsonText& JsonText::value(std::string_view text) {
  before_value();
  text_ += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) {
      text_ += kReplacement;
    } else if (length == 1) {
      append_escaped(text_, text.front());
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
  return *this;
}

std::string JsonText::take() {
  NARU_ASSERT(has_elements_.empty(), "{} brackets are open", has_elements_.size());
  text_ += '\n';
  return std::move(text_);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t offset) -> uint32_t {
      return i + offset < bytes.size() ? static_cast<unsigned char>(bytes[i + offset]) : 0;
    };
    const uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return text;
}

}  // namespace naru::command_line
