// A running hash over everything that happens in a simulated world: two runs of one seed must end with the same value.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "foundation/bytes.h"
#include "foundation/crc32c.h"

namespace naru {

class TraceHash {
 public:
  void mix(uint64_t value) { value_ = std::rotl(value_ ^ (value * 0x9e3779b97f4a7c15U), 29) * 0xbf58476d1ce4e5b9U + 1; }
  void mix(BytesView bytes) {
    mix(bytes.size());
    mix(crc32c(bytes));
  }
  void mix(std::string_view text) { mix(as_bytes(text)); }

  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0x6e617275;
};

}  // namespace naru
