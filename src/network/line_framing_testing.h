// A framing whose frames do not tell their size beforehand, for tests: lines that end with "\n".
#pragma once

#include <algorithm>

#include "network/framing.h"

namespace naru {

class LineFraming final : public Framing {
 public:
  Result<std::optional<FrameBounds>> find(BytesView unread) override {
    const auto end = std::find(unread.begin() + static_cast<ptrdiff_t>(seen_), unread.end(), std::byte{'\n'});
    if (end == unread.end()) {
      seen_ = unread.size();
      return std::nullopt;
    }
    seen_ = 0;
    return FrameBounds{.content = static_cast<size_t>(end - unread.begin()), .behind = 1};
  }

 private:
  size_t seen_ = 0;  // without an end
};

}  // namespace naru
