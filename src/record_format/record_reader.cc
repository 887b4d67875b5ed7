#include "record_format/record_reader.h"

namespace naru {
namespace {

// A length of -1 is null; anything below is an error.
std::optional<BytesView> read_nullable(ByteReader& reader) {
  const int32_t length = reader.read_varint();
  if (length == -1) return std::nullopt;
  if (length < 0) {
    reader.fail("negative length");
    return std::nullopt;
  }
  return reader.read_bytes(static_cast<size_t>(length));
}

RecordHeader read_header(ByteReader& reader) {
  const std::optional<BytesView> key = read_nullable(reader);
  if (!key) reader.fail("header without a key");
  return {.key = as_text(key.value_or(BytesView{})), .value = read_nullable(reader)};
}

}  // namespace

std::optional<RecordHeader> RecordHeaders::next() {
  if (left_ == 0) return std::nullopt;
  --left_;
  return read_header(reader_);
}

bool RecordReader::next(RecordView& record) {
  if (error_ != nullptr) return false;
  if (records_read_ == header_.records_count) return finish();
  record_position_ = reader_.position();
  if (reader_.at_end()) return fail("fewer records than the batch's record count");
  const int32_t length = reader_.read_varint();
  if (length < 0) return fail("negative record length");
  ByteReader body(reader_.read_bytes(static_cast<size_t>(length)));
  if (!reader_.ok()) return fail(reader_.error());
  if (!read_body(body, record)) return false;
  ++records_read_;
  return true;
}

bool RecordReader::read_body(ByteReader& body, RecordView& record) {
  body.read_int<int8_t>();  // attributes: no bit of them has a meaning
  const int64_t timestamp_delta = body.read_varlong();
  record.offset_delta = body.read_varint();
  record.key = read_nullable(body);
  record.value = read_nullable(body);
  record.headers_count = body.read_varint();
  if (!body.ok()) return fail(body.error());
  record.headers_bytes = body.read_bytes(body.remaining());
  return check_headers(record) && place(record, timestamp_delta);
}

// Headers are read later, if at all, and then nothing can go wrong any more.
bool RecordReader::check_headers(const RecordView& record) {
  if (record.headers_count < 0) return fail("negative header count");
  // A header has two bytes at least: a wrong count is found before it costs time.
  if (static_cast<size_t>(record.headers_count) > record.headers_bytes.size() / 2)
    return fail("more headers than bytes for them");
  ByteReader headers(record.headers_bytes);
  for (int32_t i = 0; i < record.headers_count; ++i) read_header(headers);
  if (!headers.ok()) return fail(headers.error());
  if (!headers.at_end()) return fail("record length is larger than its content");
  return true;
}

// Turns the deltas into an offset and a timestamp.
bool RecordReader::place(RecordView& record, int64_t timestamp_delta) {
  if (record.offset_delta <= last_offset_delta_) return fail("offset delta is not larger than the one before");
  if (record.offset_delta > header_.last_offset_delta) return fail("offset delta is beyond the batch's last one");
  last_offset_delta_ = record.offset_delta;
  record.offset = header_.base_offset + record.offset_delta;
  if (header_.timestamp_type() == TimestampType::log_append_time)
    record.timestamp = header_.max_timestamp;
  else if (__builtin_add_overflow(header_.base_timestamp, timestamp_delta, &record.timestamp))
    return fail("timestamp delta leaves the range of a timestamp");
  return true;
}

bool RecordReader::finish() {
  record_position_ = reader_.position();
  if (!reader_.at_end()) return fail("bytes behind the last record");
  return false;
}

bool RecordReader::fail(const char* reason) {
  error_ = reason;
  return false;
}

Status RecordReader::status() const {
  if (error_ == nullptr) return {};
  return error(ErrorCode::invalid_record, "record {} (of {}, at byte {} of the records): {}", records_read_,
               header_.records_count, record_position_, error_);
}

Result<RecordReader> open_records(const BatchHeader& header, BytesView whole_batch, Decompressor& decompressor,
                                  size_t max_decompressed_bytes) {
  const std::optional<Compression> codec = header.compression();
  if (!codec)
    return failure(ErrorCode::unsupported_compression_type, "compression codec {} is unknown",
                   header.attributes & batch_attribute::kCompressionMask);
  // Compaction may leave a batch without records, and then there is nothing to decompress either.
  if (header.records_count == 0) return RecordReader(header, {});
  NARU_TRY_ASSIGN(const BytesView records,
                  decompressor.decompress(*codec, batch_records(whole_batch), max_decompressed_bytes));
  return RecordReader(header, records);
}

}  // namespace naru
