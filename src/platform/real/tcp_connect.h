// Connecting without blocking.
#pragma once

#include "async/cancellation.h"
#include "async/task.h"
#include "platform/real/event_loop.h"
#include "platform/real/socket_address.h"
#include "platform/transport.h"

namespace naru {

// On the loop's thread, and ends there. ErrorCode::cancelled when the token is cancelled first.
Task<Result<std::unique_ptr<Stream>>> tcp_connect(EventLoop& loop, SocketAddress address, MonotonicTime deadline,
                                                  CancelToken cancelled);

}  // namespace naru
