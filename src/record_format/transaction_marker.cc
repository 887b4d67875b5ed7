#include "record_format/transaction_marker.h"

#include <string_view>
#include <utility>

#include "foundation/assert.h"
#include "foundation/byte_reader.h"
#include "foundation/byte_writer.h"
#include "record_format/batch_builder.h"
#include "record_format/record_batch.h"
#include "record_format/record_reader.h"

namespace naru {
namespace {

constexpr int16_t kKeyVersion = 0;
constexpr int16_t kValueVersion = 0;

}  // namespace

Bytes build_marker_batch(const ProducerIdentity& producer, const TransactionMarker& marker, WallTimeMs now) {
  Bytes key;
  ByteWriter key_writer(key);
  key_writer.write_int(kKeyVersion);
  key_writer.write_int(static_cast<int16_t>(marker.result));
  Bytes value;
  ByteWriter value_writer(value);
  value_writer.write_int(kValueVersion);
  value_writer.write_int(marker.coordinator_epoch);
  BatchBuilder builder(
      {.transactional = true, .control = true, .producer_id = producer.id, .producer_epoch = producer.epoch});
  builder.add({.timestamp = now, .key = BytesView(key), .value = BytesView(value), .headers = {}});
  auto batch = builder.build();
  NARU_ASSERT(batch.has_value(), "a marker does not fit into a batch");
  return std::move(*batch);
}

Result<TransactionMarker> parse_marker_batch(BytesView whole_batch) {
  const auto malformed = [](std::string_view why) {
    return failure(error(ErrorCode::invalid_record, "not the marker of a transaction: {}", why));
  };
  NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(whole_batch));
  if (!header.is_control() || !header.is_transactional() || header.records_count != 1) {
    return malformed("its batch has the wrong attributes");
  }
  if (header.compression() != Compression::none) return malformed("it is compressed");
  RecordReader records(header, batch_records(whole_batch));
  RecordView record;
  if (!records.next(record) || !record.key || !record.value) return malformed("its record cannot be read");
  ByteReader key(*record.key);
  ByteReader value(*record.value);
  const auto key_version = key.read_int<int16_t>();
  const auto type = key.read_int<int16_t>();
  const auto value_version = value.read_int<int16_t>();
  const auto coordinator_epoch = value.read_int<int32_t>();
  // Later versions may say more, at the end.
  if (!key.ok() || !value.ok() || key_version < 0 || value_version < 0) return malformed("its record is too short");
  if (type != static_cast<int16_t>(TransactionResult::abort) &&
      type != static_cast<int16_t>(TransactionResult::commit)) {
    return malformed("it is of another type");
  }
  return TransactionMarker{.result = static_cast<TransactionResult>(type), .coordinator_epoch = coordinator_epoch};
}

}  // namespace naru
