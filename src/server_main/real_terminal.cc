#include "server_main/real_terminal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

#include "foundation/assert.h"
#include "platform/real/os_error.h"

namespace naru {
namespace {

int descriptor_of(command_line::Terminal::Channel channel) {
  switch (channel) {
    case command_line::Terminal::Channel::input:
      return STDIN_FILENO;
    case command_line::Terminal::Channel::output:
      return STDOUT_FILENO;
    case command_line::Terminal::Channel::error:
      return STDERR_FILENO;
  }
  return STDERR_FILENO;
}

// A terminal shared with another program may have been made non-blocking by it.
void wait_for(int descriptor, short events) {
  pollfd waited{.fd = descriptor, .events = events, .revents = 0};
  ::poll(&waited, 1, -1);
}

Status write_all(int descriptor, std::string_view text, int* error_number = nullptr) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      wait_for(descriptor, POLLOUT);
    } else if (errno != EINTR) {
      if (error_number != nullptr) *error_number = errno;
      return os_error(errno, "write to", "standard output");
    }
  }
  return {};
}

}  // namespace

RealTerminal::RealTerminal() : wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  NARU_ASSERT(wake_up_, "no descriptor for an event");
}

Status RealTerminal::write_output(std::string_view text) {
  int error_number = 0;
  Status written = write_all(STDOUT_FILENO, text, &error_number);
  if (!written.ok() && error_number != EPIPE) output_problem_ = written;
  return written;
}

void RealTerminal::write_error(std::string_view text) {
  ignore(write_all(STDERR_FILENO, text));  // there is nobody left to tell
}

bool RealTerminal::output_is_closed() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

Result<size_t> RealTerminal::read_input(MutableBytesView to) {
  while (true) {
    std::array<pollfd, 2> waited{{{STDIN_FILENO, POLLIN, 0}, {wake_up_.get(), POLLIN, 0}}};
    if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR)
      return failure(os_error(errno, "poll", "standard input"));
    if (waited[1].revents != 0) return 0;
    if (waited[0].revents == 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, to.data(), to.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR && errno != EAGAIN) return failure(os_error(errno, "read from", "standard input"));
  }
}

void RealTerminal::interrupt_input() {
  const uint64_t one = 1;
  static_cast<void>(!::write(wake_up_.get(), &one, sizeof one));
}

bool RealTerminal::is_interactive(Channel channel) const {
  return ::isatty(descriptor_of(channel)) == 1;
}

}  // namespace naru
