// Connecting without blocking.
#pragma once

#include "async/task.h"
#include "platform/real/event_loop.h"
#include "platform/real/socket_address.h"
#include "platform/transport.h"

namespace naru {

// On the loop's thread, and ends there.
Task<Result<std::unique_ptr<Stream>>> tcp_connect(EventLoop& loop, SocketAddress address, MonotonicTime deadline);

}  // namespace naru
