#include "network/framing.h"

#include "foundation/endian.h"

namespace naru {

Result<std::optional<FrameBounds>> SizePrefixedFraming::find(BytesView unread) {
  if (unread.size() < sizeof(int32_t)) return std::nullopt;
  const auto size = load_big_endian<int32_t>(unread.data());
  if (size < 0) return failure(ErrorCode::malformed_request, "a frame of {} bytes", size);
  return FrameBounds{.before = sizeof(int32_t), .content = static_cast<size_t>(size)};
}

}  // namespace naru
