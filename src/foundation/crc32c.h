// CRC-32C (Castagnoli), the checksum of Kafka record batches and of our own files.
#pragma once

#include <cstdint>

#include "foundation/bytes.h"

namespace naru {

uint32_t crc32c(BytesView bytes);
// Continues a checksum: crc32c_extend(crc32c(a), b) == crc32c(a followed by b).
uint32_t crc32c_extend(uint32_t crc, BytesView bytes);

}  // namespace naru
