#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

namespace naru {

// How many threads can run at once here; at least 1.
inline size_t processor_count() {
  return std::max<size_t>(1, std::thread::hardware_concurrency());
}

}  // namespace naru
