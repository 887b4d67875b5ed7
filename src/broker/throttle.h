// How long a client is over its quota. The dispatcher answers at once and then reads nothing from it for that long.
#pragma once

#include <cstdint>

#include "broker/request_context.h"

namespace naru {

class Throttle {
 public:
  virtual ~Throttle() = default;
  virtual Milliseconds delay(const RequestContext& context, uint64_t bytes_in, uint64_t bytes_out) = 0;
};

class NoThrottle final : public Throttle {
 public:
  Milliseconds delay(const RequestContext&, uint64_t, uint64_t) override { return Milliseconds(0); }
};

}  // namespace naru
