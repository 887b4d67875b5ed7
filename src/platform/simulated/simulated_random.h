// A seeded sequence: the same seed yields the same numbers on every machine and with every compiler. Single-threaded.
#pragma once

#include <array>
#include <cstdint>

#include "platform/random.h"

namespace naru {

// xoshiro256**, its state filled by splitmix64.
class SimulatedRandom final : public Random {
 public:
  explicit SimulatedRandom(uint64_t seed);
  uint64_t next() override;

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace naru
