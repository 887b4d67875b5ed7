// The memory that a request takes besides its bytes: its decoded form, what the handler makes of it, and the answer.
//
// All of it grows with the elements of the request's arrays, and each may take a hundred times the six bytes that it
// has on the wire. So it is paid for while the arrays are decoded, a multiple of what they take, until the answer is
// given. A few elements are covered by what every request pays for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kafka_protocol/wire_reader.h"
#include "observability/memory_budget.h"

namespace naru {

// Thread: that of the request.
class DecodedMemory final : public kafka::ArrayMemory {
 public:
  static constexpr uint64_t kFreeBytes = 16 * 1024;

  // `multiple`: how much a byte of decoded arrays leads to in all.
  DecodedMemory(MemoryBudget& budget, uint64_t multiple) : budget_(budget), multiple_(multiple) {}

  bool take(size_t bytes) override { return take_for_answer(bytes * multiple_); }

  // For an answer that is larger than the request explains.
  bool take_for_answer(uint64_t bytes) {
    wanted_ += bytes;
    if (wanted_ <= kFreeBytes + lease_.bytes()) return true;
    const uint64_t missing = std::max<uint64_t>(wanted_ - kFreeBytes - lease_.bytes(), kStep);
    // The bytes of the request are here already. To refuse it because others wait for memory would help nobody: what
    // they wait for may be the answer to this one.
    auto more = budget_.charge(MemoryAccount::decoded_requests, missing);
    if (!more) return false;
    lease_.merge(std::move(*more));
    return true;
  }

  // What was paid, for somebody who keeps the decoded form for longer.
  MemoryLease hand_over() { return std::exchange(lease_, {}); }
  // The decoded form is gone, and what was made of it is paid for elsewhere.
  void release() { lease_.release(); }

 private:
  static constexpr uint64_t kStep = 64 * 1024;  // arrays may be many and small

  MemoryBudget& budget_;
  const uint64_t multiple_;
  uint64_t wanted_ = 0;
  MemoryLease lease_;
};

}  // namespace naru
