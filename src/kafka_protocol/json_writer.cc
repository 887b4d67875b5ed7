#include "kafka_protocol/json_writer.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace naru::kafka {

void JsonWriter::key(std::string_view name) {
  if (!first_) text_ += ',';
  first_ = false;
  fmt::format_to(std::back_inserter(text_), "\"{}\":", name);
}

void JsonWriter::value(double number) {
  // JSON has no infinity and no NaN.
  if (!std::isfinite(number)) return null();
  fmt::format_to(std::back_inserter(text_), "{}", number);
}

void JsonWriter::value(std::string_view text) {
  text_ += '"';
  for (const char character : text.substr(0, kTextMax)) {
    const auto byte = static_cast<uint8_t>(character);
    if (character == '"' || character == '\\') {
      text_ += '\\';
      text_ += character;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // Whether a client's bytes are UTF-8 is not known, so each byte is shown for itself.
      fmt::format_to(std::back_inserter(text_), "\\u{:04x}", byte);
    } else {
      text_ += character;
    }
  }
  if (text.size() > kTextMax) fmt::format_to(std::back_inserter(text_), "... {} more", text.size() - kTextMax);
  text_ += '"';
}

void JsonWriter::value(const Records& records) {
  if (records.is_null()) return null();
  size_of_bytes(records.size());
}

void JsonWriter::integer(int64_t number) {
  fmt::format_to(std::back_inserter(text_), "{}", number);
}

void JsonWriter::null() {
  text_ += "null";
}

void JsonWriter::size_of_bytes(size_t size) {
  fmt::format_to(std::back_inserter(text_), "\"{} bytes\"", size);
}

void JsonWriter::omitted(size_t count) {
  fmt::format_to(std::back_inserter(text_), ",\"... {} more\"", count);
}

}  // namespace naru::kafka
