// Keeps the responses of one connection in the order of its requests, whatever order they are finished in. No I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "foundation/assert.h"
#include "network/response.h"

namespace naru {

// Slots are the connection's requests, counted from 0. Bounded by the number of requests in flight.
class ResponseQueue {
 public:
  void finish(uint64_t slot, Response response) {
    NARU_ASSERT(slot >= first_, "two responses for slot {}", slot);
    const uint64_t index = slot - first_;
    if (index >= slots_.size()) slots_.resize(index + 1);
    NARU_ASSERT(!slots_[index].has_value(), "two responses for slot {}", slot);
    memory_ += response.memory();
    files_ += response.files();
    slots_[index] = std::move(response);
  }

  // The next response that may be sent, if it is finished.
  std::optional<Response> take_next() {
    if (slots_.empty() || !slots_.front().has_value()) return std::nullopt;
    auto next = std::move(slots_.front());
    slots_.pop_front();
    ++first_;
    memory_ -= next->memory();
    files_ -= next->files();
    return next;
  }

  // Bytes of the responses that wait here, file ranges not counted.
  uint64_t memory() const { return memory_; }
  // And the files that they keep open.
  size_t files() const { return files_; }

 private:
  std::deque<std::optional<Response>> slots_;
  uint64_t first_ = 0;
  uint64_t memory_ = 0;
  size_t files_ = 0;
};

}  // namespace naru
