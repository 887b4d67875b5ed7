// Status and Result: how everything below a request handler reports failure. No exceptions.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "foundation/error_code.h"

namespace naru {

class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(ErrorCode code, std::string message = {}) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == ErrorCode::none; }
  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // "DISK_FULL: cannot append to ...": for logs and for people.
  std::string to_string() const;

  bool operator==(ErrorCode code) const { return code_ == code; }

 private:
  ErrorCode code_ = ErrorCode::none;
  std::string message_;
};

template <class T>
using Result = std::expected<T, Status>;

template <class... Args>
Status error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

// For functions that return Result<T>: `return failure(ErrorCode::corrupt_data, "{} is ...", path);`
template <class... Args>
std::unexpected<Status> failure(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(error(code, format, std::forward<Args>(args)...));
}
inline std::unexpected<Status> failure(Status status) {
  return std::unexpected(std::move(status));
}

// A value whose failure has been looked at: makes dropping one on purpose visible.
inline void ignore(const Status&) {}

}  // namespace naru

// Returns the error of a Status expression from a function that returns Status or Result<T>.
#define NARU_TRY(expression)                                        \
  do {                                                              \
    if (auto naru_try_status = (expression); !naru_try_status.ok()) \
      return ::naru::detail::Propagate{std::move(naru_try_status)}; \
  } while (false)

// Binds the value of a Result expression to `declaration`, or returns its error.
#define NARU_TRY_ASSIGN(declaration, expression) \
  NARU_TRY_ASSIGN_IMPL(NARU_TRY_CONCAT(naru_result_, __LINE__), declaration, expression)
#define NARU_TRY_ASSIGN_IMPL(result, declaration, expression)               \
  auto result = (expression);                                               \
  if (!result) return ::naru::detail::Propagate{std::move(result).error()}; \
  declaration = std::move(*result)
#define NARU_TRY_CONCAT(a, b) NARU_TRY_CONCAT_IMPL(a, b)
#define NARU_TRY_CONCAT_IMPL(a, b) a##b

// The same inside a coroutine (Task<Status> or Task<Result<T>>).
#define NARU_CO_TRY(expression)                                        \
  do {                                                                 \
    if (auto naru_try_status = (expression); !naru_try_status.ok())    \
      co_return ::naru::detail::Propagate{std::move(naru_try_status)}; \
  } while (false)
#define NARU_CO_TRY_ASSIGN(declaration, expression) \
  NARU_CO_TRY_ASSIGN_IMPL(NARU_TRY_CONCAT(naru_result_, __LINE__), declaration, expression)
#define NARU_CO_TRY_ASSIGN_IMPL(result, declaration, expression)               \
  auto result = (expression);                                                  \
  if (!result) co_return ::naru::detail::Propagate{std::move(result).error()}; \
  declaration = std::move(*result)

namespace naru::detail {

// Converts to whatever the enclosing function returns.
struct Propagate {
  Status status;
  operator Status() && { return std::move(status); }  // NOLINT(google-explicit-constructor)
  template <class T>
  operator Result<T>() && {  // NOLINT(google-explicit-constructor)
    return std::unexpected(std::move(status));
  }
};

}  // namespace naru::detail
