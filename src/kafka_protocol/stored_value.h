// Values of our own formats (schemas/internal): an int16 version, then the body in that version.
#pragma once

#include <cstdint>

#include "foundation/assert.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "kafka_protocol/wire_reader.h"
#include "kafka_protocol/wire_writer.h"

namespace naru::kafka {

// Strings are at most kStringSizeMax long.
template <class Value>
Bytes encode_stored_value(const Value& value, int16_t version = Value::kMaxVersion) {
  Bytes bytes;
  bytes.reserve(sizeof version + encoded_size(value, version));
  WireWriter writer(bytes);
  writer.write<int16_t>(version);
  encode(writer, value, version);
  NARU_ASSERT(writer.failure() == nullptr, "{}: {}", Value::kName, writer.failure());
  // Harmless in a message to a client, but not in what we read again.
  NARU_ASSERT(!writer.text_was_cut(), "a string in {} is longer than {} bytes", Value::kName, kStringSizeMax);
  return bytes;
}

// UNSUPPORTED_FORMAT for a version that this Naru does not know, CORRUPT_DATA for bytes that do not decode.
template <class Value>
Result<Value> decode_stored_value(BytesView bytes) {
  WireReader reader(bytes, Value::kName);
  int16_t version = 0;
  reader.read<int16_t>(version);
  if (reader.ok() && (version < Value::kMinVersion || version > Value::kMaxVersion)) {
    return failure(ErrorCode::unsupported_format, "{} is stored in version {}, and only {} to {} are known here",
                   Value::kName, version, Value::kMinVersion, Value::kMaxVersion);
  }
  Value value;
  reader.enter_message(Value::kName, version);
  if (reader.ok()) decode(reader, value, version);
  if (const Status status = reader.finish(); !status.ok())
    return failure(ErrorCode::corrupt_data, "{}", status.message());
  return value;
}

}  // namespace naru::kafka
