// Failures that pass by themselves: something ran out, and what failed can be done when there is some again.
#pragma once

#include "foundation/status.h"

namespace naru {

inline bool is_shortage(const Status& status) {
  return status == ErrorCode::disk_full || status == ErrorCode::too_many_open_files;
}

}  // namespace naru
