#include "kafka_protocol/wire_reader.h"

#include <bit>

namespace naru::kafka {

ErrorCode error_code_from_wire(int16_t code) {
  for (const ErrorRow& row : error_table()) {
    // Codes of our own have another number on the wire, and never come from it.
    if (static_cast<int16_t>(row.code) == code && row.wire_code == code) return row.code;
  }
  return ErrorCode::unknown_server_error;
}

Status WireReader::status() const {
  if (ok()) return {};
  return error(out_of_memory_ ? ErrorCode::out_of_memory_budget : ErrorCode::malformed_request, "{} v{}: {} at byte {}",
               message_name_, version_, bytes_.error(), position());
}

Status WireReader::finish() {
  if (ok() && !bytes_.at_end()) fail("bytes are left over");
  return status();
}

void WireReader::read_float64(double& out) {
  out = std::bit_cast<double>(bytes_.read_int<uint64_t>());
}

void WireReader::read_records(Records& out, LengthForm form, bool nullable) {
  const std::optional<BytesView> bytes = check_null(read_sized_bytes(form), nullable);
  out = bytes ? Records(Bytes(bytes->begin(), bytes->end())) : Records::null();
}

std::optional<BytesView> WireReader::read_string_bytes(LengthForm form) {
  const int64_t size = form == LengthForm::compact ? static_cast<int64_t>(bytes_.read_uvarint()) - 1
                                                   : static_cast<int64_t>(bytes_.read_int<int16_t>());
  if (size == kNull) return std::nullopt;
  if (size < 0 || size > static_cast<int64_t>(kStringSizeMax)) {
    fail("string has an impossible length");
    return std::nullopt;
  }
  return bytes_.read_bytes(static_cast<size_t>(size));
}

std::optional<BytesView> WireReader::read_sized_bytes(LengthForm form) {
  const int64_t size = form == LengthForm::compact ? static_cast<int64_t>(bytes_.read_uvarint()) - 1
                                                   : static_cast<int64_t>(bytes_.read_int<int32_t>());
  if (size == kNull) return std::nullopt;
  if (size < 0) {
    fail("bytes have a negative length");
    return std::nullopt;
  }
  return bytes_.read_bytes(static_cast<size_t>(size));
}

std::optional<BytesView> WireReader::check_null(std::optional<BytesView> bytes, bool nullable) {
  if (!bytes && !nullable) fail(kUnexpectedNull);
  return bytes;
}

int64_t WireReader::read_array_count(LengthForm form) {
  return form == LengthForm::compact ? static_cast<int64_t>(bytes_.read_uvarint()) - 1
                                     : static_cast<int64_t>(bytes_.read_int<int32_t>());
}

size_t WireReader::required_count(int64_t count) {
  if (count >= 0) return static_cast<size_t>(count);
  fail(count == kNull ? kUnexpectedNull : "array has a negative length");
  return 0;
}

bool WireReader::reserve_elements(size_t count, size_t element_size_min, size_t element_size_in_memory) {
  if (count > remaining() / element_size_min) {
    fail("array is longer than the bytes left");
    return false;
  }
  if (count > (kDecodedArrayBytesMax - array_bytes_) / element_size_in_memory) {
    fail("arrays are too large in total");
    return false;
  }
  if (memory_ != nullptr && count > 0 && !memory_->take(count * element_size_in_memory)) {
    out_of_memory_ = true;
    fail("the memory budget has no room for its arrays");
    return false;
  }
  array_bytes_ += count * element_size_in_memory;
  return true;
}

bool WireReader::check_tag(uint32_t tag, int64_t previous_tag, uint32_t size) {
  if (ok() && static_cast<int64_t>(tag) <= previous_tag) fail("tags are not ascending");
  if (ok() && size > remaining()) fail("tagged field is longer than the bytes left");
  return ok();
}

}  // namespace naru::kafka
