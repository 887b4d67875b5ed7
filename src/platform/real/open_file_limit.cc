#include "platform/real/open_file_limit.h"

#include <sys/resource.h>

#include <limits>

namespace naru {
namespace {

constexpr uint64_t kPosixMinimum = 20;

}  // namespace

uint64_t open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kPosixMinimum;
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<uint64_t>::max() : uint64_t{limit.rlim_cur};
}

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, the lower one holds
}

}  // namespace naru
