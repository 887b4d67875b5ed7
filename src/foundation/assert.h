// Assertions are for our own mistakes only, and always on. Input, disks and peers yield a Status instead.
#pragma once

#include <string>

#include <fmt/core.h>

namespace naru {
[[noreturn]] void assertion_failed(const char* file, int line, const char* condition, const std::string& message);
}

#define NARU_ASSERT(condition, ...)                                                         \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      ::naru::assertion_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
