// The few Kafka requests that the load generators send, as finished frames.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/bytes.h"

namespace naru::bench {

// One batch with `records` values of `value_bytes` each, uncompressed, without keys.
Bytes make_batch(size_t records, size_t value_bytes);
// Where the first record's value begins in such a batch.
size_t first_value_position(size_t value_bytes);

// Produce: `batch` for each of the partitions 0 to `partitions` - 1.
Bytes produce_frame(std::string_view topic, int32_t partitions, BytesView batch, int16_t acks = 1);
Bytes fetch_frame(std::string_view topic, int64_t offset, int32_t max_bytes, int32_t max_wait_ms);
Bytes create_topic_frame(std::string_view topic, int32_t partitions, const std::vector<std::string>& settings);

// The records in the answer to fetch_frame(); exits when it reports an error.
Bytes fetched_records(BytesView frame);
// Exits when the answer to produce_frame() reports an error.
void check_produced(BytesView frame);
// Exits when the answer to create_topic_frame() reports an error.
void check_created(BytesView frame);

}  // namespace naru::bench
