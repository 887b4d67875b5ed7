#include "broker/stored_codecs.h"

#include "log_storage/window_reader.h"
#include "record_format/record_batch.h"

namespace naru {
namespace {

// Many small batches are read in one go, and not much of a large one.
constexpr size_t kWindowBytes = 4096;
// So much has a thousand headers at most, in 16 windows.
constexpr uint64_t kBytesAtOnce = 64 * 1024;

Result<bool> look_for_zstd(const LogSlice& slice) {
  const uint64_t end = slice.position + slice.bytes;
  WindowReader reader(slice.file, end, kWindowBytes);
  for (uint64_t position = slice.position; position < end;) {
    NARU_TRY_ASSIGN(const BytesView bytes, reader.read(position, kBatchHeaderSize));
    NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(bytes));
    if (header.compression() == Compression::zstd) return true;
    position += header.total_size;
  }
  return false;
}

}  // namespace

Task<Result<bool>> contains_zstd(Scheduler& scheduler, const LogSlice& slice) {
  const bool at_once = slice.bytes <= kBytesAtOnce && slice.file->is_cached(slice.position, slice.bytes);
  if (at_once) co_return look_for_zstd(slice);
  co_return co_await on_worker(scheduler, [&slice] { return look_for_zstd(slice); });
}

}  // namespace naru
