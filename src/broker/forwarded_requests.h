// Requests that another broker passes on to this one because it is the controller.
#pragma once

#include <string>

#include "access/caller.h"
#include "async/task.h"
#include "foundation/shared_bytes.h"
#include "foundation/time.h"
#include "network/response.h"

namespace naru {

struct RequestContext;

// What a caller may add to its request when it is passed on. Larger requests are not: the frame would be too large.
inline constexpr size_t kForwardingBytes = 4096;

class ForwardedRequests {
 public:
  struct Answer {
    Response response;
    Milliseconds throttle{0};  // of the caller, by the broker that it is connected to
  };

  virtual ~ForwardedRequests() = default;
  // Answers `frame`, which came with `envelope`, with the rights of `caller`. Only requests that a broker may pass on:
  // the answer to others is the end of the caller's connection.
  virtual Task<Answer> answer_forwarded(const RequestContext& envelope, CallerPtr caller, SharedBytes frame) = 0;
};

}  // namespace naru
