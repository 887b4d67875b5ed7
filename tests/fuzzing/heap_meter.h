// How many bytes the program has allocated: by its own count, or by the address sanitizer's.
#pragma once

#include <cstdint>

namespace naru::fuzzing {

uint64_t heap_bytes();
// The most since the last call of forget_heap_peak(). The address sanitizer does not tell: then it is heap_bytes().
uint64_t heap_peak();
void forget_heap_peak();

}  // namespace naru::fuzzing
