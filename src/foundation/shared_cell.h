// A shared pointer that one thread replaces while others read it.
//
// In place of std::atomic<std::shared_ptr>, whose load() in libstdc++ 12 releases its lock without ordering: a data
// race.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace naru {

// Thread-safe. The critical sections only copy or swap a pointer.
template <class T>
class SharedCell {
 public:
  explicit SharedCell(std::shared_ptr<T> value) : value_(std::move(value)) {}

  std::shared_ptr<T> load() const {
    const std::scoped_lock lock(mutex_);
    return value_;
  }

  void store(std::shared_ptr<T> value) {
    const std::scoped_lock lock(mutex_);
    value_.swap(value);
  }  // the old value goes after the lock is released: parameters outlive locals

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<T> value_;
};

}  // namespace naru
