// The part of Java's properties format that configuration files use.
//
// Lines of "key=value", "key: value" or "key value"; comments start with # or !; a line that ends with an odd number of
// backslashes continues on the next one, whose leading blanks are dropped. Escapes: \\ \= \: \# \! "\ " \t \n \r.
// Trailing blanks of a value are dropped. Not supported, and refused rather than misread: \u escapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/status.h"

namespace naru {

struct Property {
  std::string key;
  std::string value;
  int line = 0;  // where it starts, from 1

  bool operator==(const Property&) const = default;
};

inline constexpr size_t kMaxPropertiesBytes = 1 << 20;

// ErrorCode::invalid_argument with "line N: ..." for anything that is not such a file.
Result<std::vector<Property>> parse_properties(std::string_view text);

}  // namespace naru
