// Structured cancellation: whoever starts work can ask it to stop; the work decides where it can.
//
// A CancelSource is owned by the scope that starts the work, a CancelToken is handed down. Waiting primitives
// (sleeping, OneShot) take a token and answer ErrorCode::cancelled. Asking twice does nothing; asking is thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "foundation/function.h"

namespace naru {

namespace detail {
struct CancelState;
}

class CancelToken {
 public:
  CancelToken() = default;  // never cancelled

  bool cancelled() const;

 private:
  friend class CancelSource;
  friend class CancelCallback;
  explicit CancelToken(std::shared_ptr<detail::CancelState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::CancelState> state_;
};

class CancelSource {
 public:
  CancelSource();
  CancelToken token() const { return CancelToken(state_); }
  void cancel();

 private:
  std::shared_ptr<detail::CancelState> state_;
};

// Calls `function` once when the token is cancelled, on the cancelling thread; at once if it already is.
// After the destructor returned, the function is not running and never will; do not destroy it from inside the
// function.
class CancelCallback {
 public:
  CancelCallback(const CancelToken& token, UniqueFunction<void()> function);
  ~CancelCallback();
  CancelCallback(const CancelCallback&) = delete;
  CancelCallback& operator=(const CancelCallback&) = delete;

 private:
  std::shared_ptr<detail::CancelState> state_;
  uint64_t id_ = 0;
};

}  // namespace naru
