// The seam to randomness. Thread-safe in the real implementation, a seeded sequence in the simulated one.
#pragma once

#include <cstdint>

#include "foundation/uuid.h"

namespace naru {

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t next() = 0;

  // A number in [0, limit), without bias worth speaking of; limit > 0.
  uint64_t below(uint64_t limit) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * limit) >> 64);
  }
  bool one_in(uint64_t n) { return below(n) == 0; }
  Uuid uuid() {
    const uint64_t high = next();
    return Uuid::from_random_bits(high, next());
  }
};

}  // namespace naru
