#include "simulation/stored_records.h"

#include "record_format/decompressor.h"

namespace naru::simulation {
namespace {
constexpr uint32_t kBytesPerRead = 1 << 20;
constexpr size_t kDecompressedMax = 1 << 20;
}  // namespace

Status read_stored_batches(PartitionLog& log, Offset from, Offset end,
                           const std::function<Status(const BatchHeader&, BytesView)>& show) {
  Bytes buffer;
  while (from < end) {
    NARU_TRY_ASSIGN(const LogSlice slice, log.read(from, end, kBytesPerRead, true));
    if (slice.empty()) break;
    buffer.resize(slice.bytes);
    NARU_TRY_ASSIGN(const size_t got, slice.file->read_at(slice.position, buffer));
    for (BytesView rest = BytesView(buffer).first(got); !rest.empty();) {
      NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(rest));
      NARU_TRY(show(header, rest.first(header.total_size)));
      rest = rest.subspan(header.total_size);
    }
    from = slice.next_offset;
  }
  return Status();
}

Status read_stored_records(PartitionLog& log, Offset from, Offset end,
                           const std::function<Status(const BatchHeader&, const RecordView&)>& show) {
  return read_stored_batches(log, from, end, [&show](const BatchHeader& header, BytesView batch) -> Status {
    NARU_TRY_ASSIGN(RecordReader records,
                    open_records(header, batch, Decompressor::of_this_thread(), kDecompressedMax));
    for (RecordView record; records.next(record);) NARU_TRY(show(header, record));
    return Status();
  });
}

}  // namespace naru::simulation
