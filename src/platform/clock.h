// The seam to time. Nothing else in the code base asks the operating system what time it is.
#pragma once

#include "foundation/time.h"

namespace naru {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime now() const = 0;
  virtual WallTimeMs wall_now_ms() const = 0;
};

}  // namespace naru
