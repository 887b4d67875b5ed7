#include "fuzzing/heap_meter.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#if __has_feature(address_sanitizer)

#include <sanitizer/allocator_interface.h>

namespace naru::fuzzing {

uint64_t heap_bytes() {
  return __sanitizer_get_current_allocated_bytes();
}
uint64_t heap_peak() {
  return heap_bytes();
}
void forget_heap_peak() {}

}  // namespace naru::fuzzing

#else

#include <malloc.h>

namespace naru::fuzzing {
namespace {

// One thread: the simulated world has no other.
uint64_t now = 0;
uint64_t peak = 0;

void* count(void* memory) {
  if (memory == nullptr) std::abort();
  now += malloc_usable_size(memory);
  peak = std::max(peak, now);
  return memory;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  now -= malloc_usable_size(memory);
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}

}  // namespace

uint64_t heap_bytes() {
  return now;
}
uint64_t heap_peak() {
  return peak;
}
void forget_heap_peak() {
  peak = now;
}

}  // namespace naru::fuzzing

// The other forms of new and delete end in these.
void* operator new(size_t size) {
  return naru::fuzzing::count(std::malloc(size == 0 ? 1 : size));  // NOLINT(cppcoreguidelines-no-malloc)
}
void* operator new(size_t size, std::align_val_t alignment) {
  const auto step = static_cast<size_t>(alignment);
  return naru::fuzzing::count(std::aligned_alloc(step, (size + step - 1) / step * step));
}
void operator delete(void* memory) noexcept {
  naru::fuzzing::give_back(memory);
}
void operator delete(void* memory, size_t) noexcept {
  naru::fuzzing::give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  naru::fuzzing::give_back(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  naru::fuzzing::give_back(memory);
}

#endif
