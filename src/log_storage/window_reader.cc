#include "log_storage/window_reader.h"

#include <algorithm>
#include <utility>

#include "foundation/assert.h"

namespace naru {

WindowReader::WindowReader(std::shared_ptr<const File> file, uint64_t limit, size_t window_bytes)
    : file_(std::move(file)), limit_(limit), window_bytes_(window_bytes) {}

Result<BytesView> WindowReader::read(uint64_t position, size_t count) {
  NARU_ASSERT(count <= window_bytes_, "{} bytes do not fit into a window of {}", count, window_bytes_);
  if (position >= limit_) return BytesView{};
  count = static_cast<size_t>(std::min<uint64_t>(count, limit_ - position));

  const bool inside = position >= window_position_ && position + count <= window_position_ + window_.size();
  if (!inside) {
    window_.resize(static_cast<size_t>(std::min<uint64_t>(window_bytes_, limit_ - position)));
    window_position_ = position;
    auto got = file_->read_at(position, window_);
    if (!got) {
      window_.clear();
      return failure(std::move(got).error());
    }
    window_.resize(*got);
  }
  const size_t begin = static_cast<size_t>(position - window_position_);
  return BytesView(window_).subspan(begin, std::min(count, window_.size() - begin));
}

}  // namespace naru
