#include "log_storage/batch_walk.h"

#include <algorithm>
#include <utility>

#include "foundation/crc32c.h"

namespace naru {
namespace {

constexpr size_t kWalkWindowBytes = 4096;
constexpr size_t kScanWindowBytes = 256 * 1024;

// What is wrong with a header, where `expected` is the next offset and `left` bytes and offsets are left; empty if
// nothing is.
std::string header_problem(const Result<BatchHeader>& header, Offset expected, const BatchesEnd& left) {
  if (!header) return header.error().message();
  if (header->total_size > left.position) {
    return fmt::format("the batch has {} bytes, only {} are left", header->total_size, left.position);
  }
  if (header->base_offset != expected) return fmt::format("the batch begins at offset {}", header->base_offset);
  if (header->next_offset() > left.offset) {
    return fmt::format("the batch reaches to offset {}, beyond {}", header->next_offset(), left.offset);
  }
  return {};
}

// In pieces, because the length in a damaged header may be anything up to the size of the file.
Result<bool> crc_matches(WindowReader& reader, uint64_t position, const BatchHeader& header) {
  uint32_t crc = 0;
  const uint64_t end = position + header.total_size;
  for (uint64_t at = position + batch_field::kAttributes; at < end;) {
    const auto want = static_cast<size_t>(std::min<uint64_t>(reader.window_bytes(), end - at));
    NARU_TRY_ASSIGN(const BytesView piece, reader.read(at, want));
    if (piece.empty()) return false;
    crc = crc32c_extend(crc, piece);
    at += piece.size();
  }
  return crc == header.crc;
}

}  // namespace

BatchWalk::BatchWalk(std::shared_ptr<const File> file, uint64_t position, Offset expected, BatchesEnd end)
    : reader_(std::move(file), end.position, kWalkWindowBytes), position_(position), expected_(expected), end_(end) {}

Result<BatchHeader> BatchWalk::peek() {
  NARU_TRY_ASSIGN(const BytesView bytes, reader_.read(position_, kBatchHeaderSize));
  auto header = parse_batch_header(bytes);
  const std::string problem = header_problem(header, expected_, {end_.position - position_, end_.offset});
  if (problem.empty()) return header;
  return failure(ErrorCode::corrupt_message, "{}: damaged batch at position {}, offset {}: {}", reader_.file().path(),
                 position_, expected_, problem);
}

Result<BatchHeader> BatchWalk::next() {
  NARU_TRY_ASSIGN(const BatchHeader header, peek());
  position_ += header.total_size;
  expected_ = header.next_offset();
  return header;
}

Result<BatchScan> scan_batches(const std::shared_ptr<const File>& file, Offset base_offset, LeaderEpoch epoch_before,
                               UniqueFunction<void(const BatchHeader&, uint64_t)> visit, Offset given_up_from) {
  NARU_TRY_ASSIGN(const uint64_t size, file->size());
  BatchScan scan{.valid_end = base_offset, .last_epoch = epoch_before, .file_bytes = size};
  WindowReader reader(file, size, kScanWindowBytes);
  while (scan.valid_bytes < size) {
    NARU_TRY_ASSIGN(const BytesView bytes, reader.read(scan.valid_bytes, kBatchHeaderSize));
    const auto header = parse_batch_header(bytes);
    scan.problem = header_problem(header, scan.valid_end, {.position = size - scan.valid_bytes});
    if (!scan.problem.empty()) return scan;
    if (header->leader_epoch < LeaderEpoch(0) || header->leader_epoch < scan.last_epoch) {
      scan.problem = fmt::format("leader epoch {} follows epoch {}", header->leader_epoch, scan.last_epoch);
      return scan;
    }
    NARU_TRY_ASSIGN(const bool intact, crc_matches(reader, scan.valid_bytes, *header));
    if (!intact) {
      scan.problem = "the CRC does not match";
      return scan;
    }
    if (header->next_offset() > given_up_from) {
      scan.problem = fmt::format("everything from offset {} on is given up", given_up_from);
      return scan;
    }
    visit(*header, scan.valid_bytes);
    scan.valid_bytes += header->total_size;
    scan.valid_end = header->next_offset();
    scan.last_epoch = header->leader_epoch;
  }
  return scan;
}

}  // namespace naru
