// Task<T>: a coroutine that starts when it is awaited and resumes its awaiter when it is done.
//
// A task is owned by whoever awaits it (structured): there is no detached task, except through TaskGroup, which is
// joined. Parameters of a coroutine are taken by value, or outlive it: a reference to a temporary dangles after the
// first suspension. Lambdas with captures are not coroutines here; pass what they need as parameters. Exceptions do not
// cross tasks: one that escapes ends the process, because nothing of ours throws.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "foundation/assert.h"

namespace naru {

template <class T = void>
class Task;

namespace detail {

struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
    return finished.promise().continuation;  // symmetric transfer: a chain of tasks needs no stack
  }
  void await_resume() const noexcept {}
};

struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
};

template <class T>
struct Promise final : PromiseBase {
  std::optional<T> value;

  Task<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> final : PromiseBase {
  Task<void> get_return_object();
  void return_void() const {}
  void take() const {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  auto operator co_await() && noexcept {
    struct Awaiter {
      std::coroutine_handle<promise_type> handle;
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) const noexcept {
        handle.promise().continuation = awaiting;
        return handle;
      }
      T await_resume() const { return handle.promise().take(); }
    };
    NARU_ASSERT(handle_, "a task is awaited twice");
    return Awaiter{handle_};
  }

 private:
  friend promise_type;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

namespace detail {
template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}
}  // namespace detail

}  // namespace naru
