// Small text files of one number per line, the first one being the version of their format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/status.h"
#include "platform/file_system.h"

namespace naru {

struct NumberLines {
  enum class Kind : uint8_t { missing, damaged, whole };
  Kind kind = Kind::missing;
  std::vector<int64_t> numbers;  // if whole: those behind the version, as many as were asked for
};

// unsupported_format when it has another version.
Result<NumberLines> read_number_lines(FileSystem& file_system, const std::string& path, std::string_view version,
                                      size_t count);

}  // namespace naru
