// The kernel's random numbers, fetched in small batches for each thread. Thread-safe, and good enough for identifiers.
#pragma once

#include "platform/random.h"

namespace naru {

class RealRandom final : public Random {
 public:
  uint64_t next() override;
};

}  // namespace naru
