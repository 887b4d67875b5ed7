#include "log_storage/control_batches.h"

namespace naru {
namespace {

// A marker has less than a hundred bytes.
constexpr size_t kMaxControlBytes = 64uz * 1024;

}  // namespace

Result<std::optional<TransactionMarker>> marker_of(const BatchHeader& header, BytesView whole_batch) {
  if (!header.is_control() || header.records_count == 0) return std::nullopt;
  auto marker = parse_marker_batch(whole_batch);
  if (marker) return *marker;
  return failure(ErrorCode::corrupt_message, "the control batch at offset {} says nothing that we know: {}",
                 header.base_offset, marker.error().message());
}

Result<std::optional<TransactionMarker>> read_marker(const File& file, uint64_t position, const BatchHeader& header) {
  if (!header.is_control() || header.records_count == 0) return std::nullopt;
  const auto damaged = [&](std::string_view why) {
    return failure(ErrorCode::corrupt_message, "{}: damaged control batch at position {}, offset {}: {}", file.path(),
                   position, header.base_offset, why);
  };
  if (header.total_size > kMaxControlBytes) return damaged("it is too large");
  Bytes batch(header.total_size);
  NARU_TRY_ASSIGN(const size_t got, file.read_at(position, batch));
  if (got != batch.size() || !batch_crc_matches(batch)) return damaged("the CRC does not match");
  auto marker = marker_of(header, batch);
  if (!marker) return damaged(marker.error().message());
  return marker;
}

}  // namespace naru
