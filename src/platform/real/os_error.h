// From errno to Status, in one place.
#pragma once

#include <cerrno>
#include <string_view>

#include "foundation/status.h"

namespace naru {

// "open /data/x.log: No such file or directory", with the ErrorCode that the seams promise.
Status os_error(int error_number, std::string_view call, std::string_view subject);

// Repeats a system call that a signal interrupted.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace naru
