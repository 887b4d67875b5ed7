// For tests: backends on real servers. `Server` starts one, shared by all tests of the process, and opens stores on it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "coordination_store/coordination_store.h"
#include "platform/real/real_platform.h"

namespace naru {

template <class T>
Task<void> keep_value(Task<T> task, std::optional<T>& value) {
  value.emplace(co_await std::move(task));
}

inline constexpr size_t kSharedLoops = 2;

inline RealPlatform& shared_platform() {
  static RealPlatform platform({.loops = kSharedLoops, .workers = 4});
  return platform;
}

template <class T>
T run_for_real(Task<T> task) {
  std::optional<T> value;
  shared_platform().run(keep_value(std::move(task), value));
  return std::move(*value);
}

// Has: static Server& shared(); uint16_t port(); Result<std::unique_ptr<CoordinationStore>> open(uint16_t port,
// std::string root, Duration session_timeout).
template <class Server>
class RealBackend {
 public:
  RealBackend() : root_("/test/" + std::to_string(++tests_)), store_(open()), second_(open()) {}
  ~RealBackend() {
    ignore(run(store_->close()));
    ignore(run(second_->close()));
  }

  CoordinationStore& store() { return *store_; }
  CoordinationStore& second() { return *second_; }
  template <class T>
  T run(Task<T> task) {
    return run_for_real(std::move(task));
  }
  void new_session() {
    ignore(run(store_->close()));
    store_ = open();
  }
  void end_second() { ignore(run(second_->close())); }

 private:
  std::unique_ptr<CoordinationStore> open() {
    auto opened = Server::shared().open(Server::shared().port(), root_, kPatience);
    NARU_ASSERT(opened.has_value(), "{}", opened.error().to_string());
    return std::move(*opened);
  }

  static constexpr Duration kPatience = 20s;  // nothing here expires by silence
  static inline int tests_ = 0;
  const std::string root_;
  std::unique_ptr<CoordinationStore> store_, second_;
};

}  // namespace naru
