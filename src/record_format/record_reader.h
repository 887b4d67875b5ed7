// Reads the records of one batch without copying them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "foundation/byte_reader.h"
#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/decompressor.h"
#include "record_format/record_batch.h"

namespace naru {

struct RecordHeader {
  std::string_view key;
  std::optional<BytesView> value;
};

// The headers of a record that RecordReader has already checked, read on demand: `while (auto header =
// headers.next())`.
class RecordHeaders {
 public:
  RecordHeaders(int32_t count, BytesView bytes) : left_(count), reader_(bytes) {}

  int32_t left() const { return left_; }
  std::optional<RecordHeader> next();

 private:
  int32_t left_;
  ByteReader reader_;
};

// All views point into the memory that the reader was given.
struct RecordView {
  Offset offset;
  int32_t offset_delta = 0;
  WallTimeMs timestamp = kNoTimestamp;
  std::optional<BytesView> key;
  std::optional<BytesView> value;
  int32_t headers_count = 0;
  BytesView headers_bytes;

  RecordHeaders headers() const { return {headers_count, headers_bytes}; }
};

// Iterates over decompressed records, which may be anything: every length is checked against what is there, offsets
// rise and stay within the batch, and the end must come exactly after the promised number of records. The first error
// ends the iteration and stays in status(), so callers look at it once, after the loop.
// Reads memory it does not own; does not allocate.
class RecordReader {
 public:
  RecordReader(const BatchHeader& header, BytesView records) : header_(header), reader_(records) {}

  // False at the end, and after an error.
  bool next(RecordView& record);

  size_t bytes_left() const { return reader_.remaining(); }
  // invalid_record with the place and the reason, as long as there was an error.
  Status status() const;

 private:
  bool finish();
  bool fail(const char* reason);
  bool read_body(ByteReader& body, RecordView& record);
  bool check_headers(const RecordView& record);
  bool place(RecordView& record, int64_t timestamp_delta);

  BatchHeader header_;
  ByteReader reader_;
  int32_t records_read_ = 0;
  int32_t last_offset_delta_ = -1;
  size_t record_position_ = 0;
  const char* error_ = nullptr;
};

// A reader over the records of a whole batch, decompressed if need be (then the records live as long as the
// decompressor's output). The batch's CRC has been checked before. unsupported_compression_type for unknown codecs,
// otherwise the errors of Decompressor.
Result<RecordReader> open_records(const BatchHeader& header, BytesView whole_batch, Decompressor& decompressor,
                                  size_t max_decompressed_bytes);

}  // namespace naru
