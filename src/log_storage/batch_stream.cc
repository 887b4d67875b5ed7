#include "log_storage/batch_stream.h"

#include <algorithm>
#include <utility>

namespace naru {
namespace {

constexpr size_t kReadBytes = 512 * 1024;

}  // namespace

BatchStream::BatchStream(std::shared_ptr<const File> file, Offset base_offset, uint64_t file_bytes)
    : file_(std::move(file)), file_bytes_(file_bytes), expected_(base_offset) {}

Result<BytesView> BatchStream::peek(size_t count) {
  const auto ahead = [this] {
    return BytesView(buffer_).first(buffered_).subspan(static_cast<size_t>(position_ - buffer_position_));
  };
  if (position_ < buffer_position_ + buffered_ && ahead().size() >= count) return ahead();
  const uint64_t left = file_bytes_ - position_;
  const auto wanted = static_cast<size_t>(std::min<uint64_t>(left, std::max(count, kReadBytes)));
  if (buffer_.size() < wanted) buffer_.resize(wanted);
  NARU_TRY_ASSIGN(buffered_, file_->read_at(position_, MutableBytesView(buffer_).first(wanted)));
  buffer_position_ = position_;
  return ahead();
}

Result<std::optional<StreamedBatch>> BatchStream::next() {
  if (position_ >= file_bytes_) return std::nullopt;
  NARU_TRY_ASSIGN(const BytesView start, peek(kBatchHeaderSize));
  const auto header = parse_batch_header(start);
  if (!header) return failure(damaged(header.error().message()));
  if (header->base_offset != expected_) return failure(damaged("another offset was expected"));
  if (header->total_size > file_bytes_ - position_) return failure(damaged("the batch ends behind the file"));
  NARU_TRY_ASSIGN(const BytesView ahead, peek(header->total_size));
  if (ahead.size() < header->total_size) return failure(damaged("the file has become shorter"));
  const BytesView batch = ahead.first(header->total_size);
  if (!batch_crc_matches(batch)) return failure(damaged("the CRC does not match"));
  position_ += header->total_size;
  expected_ = header->next_offset();
  return StreamedBatch{*header, batch};
}

Status BatchStream::damaged(std::string_view reason) {
  problem_ = reason;
  return error(ErrorCode::corrupt_message, "{}: damaged batch at position {}, offset {}: {}", file_->path(), position_,
               expected_, reason);
}

}  // namespace naru
