#include "foundation/assert.h"

#include <cstdio>
#include <cstdlib>

namespace naru {

void assertion_failed(const char* file, int line, const char* condition, const std::string& message) {
  fmt::print(stderr, "{}:{}: assertion failed: {}: {}\n", file, line, condition, message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace naru
