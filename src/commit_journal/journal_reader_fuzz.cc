// Any bytes as a journal: it is read or refused, and nothing else happens.
#include <cstddef>
#include <cstdint>

#include "commit_journal/journal_reader.h"
#include "foundation/crc32c.h"
#include "foundation/endian.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr uint64_t kRingBytes = 4 * kJournalBlock;

// Lets a fuzzer get past the checksum of what it has changed.
void correct_crc(MutableBytesView header, size_t size) {
  if (header.size() < size) return;
  store_big_endian(header.data() + size - 4, crc32c(BytesView(header).first(size - 4)));
}

}  // namespace

int fuzz(BytesView input) {
  SimulatedRandom random(1);
  SimulatedFileSystem files(random);
  const auto file = files.open("/commit-journal", OpenMode::create).value();
  const auto slot = encode_journal_slot({.sequence = 1, .journal_id = {0, 0}, .ring_bytes = kRingBytes});
  if (!file->write_at(kJournalBlock, slot).ok()) return 0;
  Bytes ring(input.begin(), input.end());
  ring.resize(kRingBytes);
  for (size_t at = 0; at < ring.size(); at += kJournalBlock) {
    correct_crc(MutableBytesView(ring).subspan(at, kJournalRoundHeaderBytes), kJournalRoundHeaderBytes);
  }
  if (!file->write_at(kJournalRingBegin, ring).ok()) return 0;
  const auto contents = read_journal(file);
  if (!contents && contents.error() != ErrorCode::corrupt_data) __builtin_trap();
  return 0;
}

}  // namespace naru

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return naru::fuzz({reinterpret_cast<const std::byte*>(data), size});
}
