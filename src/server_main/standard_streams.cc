#include "server_main/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "foundation/assert.h"

namespace naru {

void occupy_standard_streams() {
  // Opened for the wrong direction, the first two fail at their first use.
  for (const auto& [descriptor, flags] :
       {std::pair(STDIN_FILENO, O_WRONLY), std::pair(STDOUT_FILENO, O_RDONLY), std::pair(STDERR_FILENO, O_WRONLY)}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", flags);  // the lowest free number
    NARU_ASSERT(opened == descriptor, "no descriptor {}", descriptor);
  }
}

}  // namespace naru
