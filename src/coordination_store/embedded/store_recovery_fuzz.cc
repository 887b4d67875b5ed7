// Loading arbitrary bytes as log and snapshot of the embedded store. Checksums are made right, so that the fuzzer
// reaches what lies behind them; what loads must survive a second round through a snapshot.
#include <cstdlib>
#include <optional>

#include "coordination_store/embedded/store_recovery.h"
#include "foundation/assert.h"
#include "foundation/byte_writer.h"
#include "foundation/crc32c.h"

using namespace naru;

namespace {

constexpr uint64_t kLogId = 42;

// The bytes as the body of a round, under a header that fits.
Bytes as_round(BytesView body, uint64_t number) {
  std::byte id[8];
  store_big_endian(id, kLogId);
  const uint32_t seed = crc32c(id);
  Bytes round;
  ByteWriter writer(round);
  writer.write_int(uint32_t{0x4e52'4e44});
  writer.write_int(kStoreFormatVersion);
  writer.write_int(static_cast<uint32_t>(body.size()));
  writer.write_int(number);
  writer.write_int(crc32c_extend(seed, body));
  writer.write_int(crc32c_extend(seed, round));
  writer.write_bytes(body);
  return round;
}

Bytes as_snapshot(BytesView body) {
  Bytes snapshot = encode_snapshot({}, 0);
  snapshot.resize(kPreambleBytes);
  ByteWriter writer(snapshot);
  writer.write_bytes(body);
  writer.write_int(crc32c(snapshot));
  return snapshot;
}

void check(const std::optional<StoreFile>& snapshot, const StoreFile& log) {
  const auto recovery = recover_store(snapshot, log);
  if (!recovery) return;
  NARU_ASSERT(recovery->log_end + recovery->bytes_cut == log.content.size(), "positions do not add up");
  const Bytes again = encode_snapshot(recovery->state, recovery->last_round);
  const auto decoded = decode_snapshot(again, "again");
  NARU_ASSERT(decoded.has_value(), "a recovered state does not survive a snapshot");
  NARU_ASSERT(decoded->state.byte_count() == recovery->state.byte_count(), "a snapshot changed the state");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const BytesView bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const Bytes header = encode_log_header({kLogId, 1});
  Bytes log = header;
  switch (data[0] % 4) {
    case 0:  // a whole log
      check(std::nullopt, {"log", bytes});
      break;
    case 1:  // whatever behind a good header and a good round
      append_bytes(log, as_round({}, 1));
      append_bytes(log, bytes);
      check(std::nullopt, {"log", log});
      break;
    case 2:  // the body of a round
      append_bytes(log, as_round(bytes, 1));
      check(std::nullopt, {"log", log});
      break;
    case 3: {  // the body of a snapshot, which may claim any round up to the first of the log
      const Bytes snapshot = as_snapshot(bytes);
      check(StoreFile{"snapshot", snapshot}, {"log", log});
      break;
    }
  }
  return 0;
}
