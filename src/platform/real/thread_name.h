// Names threads so that top, gdb and a profile tell them apart.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <string>

namespace naru {

// Linux takes fifteen characters.
inline void name_this_thread(const std::string& prefix, size_t index) {
  pthread_setname_np(pthread_self(), (prefix + std::to_string(index)).substr(0, 15).c_str());
}

}  // namespace naru
