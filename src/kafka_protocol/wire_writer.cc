#include "kafka_protocol/wire_writer.h"

namespace naru::kafka {

std::string_view fitting_text(std::string_view text) {
  if (text.size() <= kStringSizeMax) return text;
  const auto continues_a_character = [&](size_t at) { return (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80; };
  size_t size = kStringSizeMax;
  while (size > 0 && continues_a_character(size)) --size;
  return text.substr(0, size);
}

}  // namespace naru::kafka
