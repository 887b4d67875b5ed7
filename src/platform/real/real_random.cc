#include "platform/real/real_random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>

#include "foundation/assert.h"

namespace naru {
namespace {

struct Batch {
  std::array<uint64_t, 32> numbers;  // 256 bytes: what getrandom delivers in one piece
  size_t left = 0;

  void refill() {
    ssize_t got = 0;
    do {
      got = getrandom(numbers.data(), sizeof numbers, 0);
    } while (got < 0 && errno == EINTR);
    NARU_ASSERT(got == sizeof numbers, "the kernel has no random numbers: errno {}", errno);
    left = numbers.size();
  }
};
thread_local Batch batch;

}  // namespace

uint64_t RealRandom::next() {
  if (batch.left == 0) batch.refill();
  return batch.numbers[--batch.left];
}

}  // namespace naru
