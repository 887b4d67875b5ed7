#include "log_storage/offset_map.h"

#include <algorithm>

namespace naru {

// A quarter of the slots stays free, so that searches end soon.
OffsetMap::OffsetMap(const SipKey& hash_key, uint64_t buffer_bytes, uint64_t expected_keys)
    : hash_key_(hash_key),
      capacity_(std::max<uint64_t>(1, std::min(buffer_bytes / kBytesPerKey, expected_keys))),
      slots_(capacity_ + capacity_ / 3 + 1) {}

// Where the hash is, or the free slot where it belongs.
size_t OffsetMap::slot_of(const Hash128& hash) const {
  auto slot = static_cast<size_t>(static_cast<unsigned __int128>(hash.low) * slots_.size() >> 64);
  while (slots_[slot].offset_plus_one != 0 && slots_[slot].hash != hash)
    slot = slot + 1 == slots_.size() ? 0 : slot + 1;
  return slot;
}

bool OffsetMap::put(BytesView key, Offset offset) {
  const Hash128 hash = sip_hash(hash_key_, key);
  Slot& slot = slots_[slot_of(hash)];
  if (slot.offset_plus_one == 0) {
    if (size_ == capacity_) return false;
    ++size_;
  }
  slot = {hash, offset.value() + 1};
  return true;
}

std::optional<Offset> OffsetMap::find(BytesView key) const {
  const Slot& slot = slots_[slot_of(sip_hash(hash_key_, key))];
  if (slot.offset_plus_one == 0) return std::nullopt;
  return Offset(slot.offset_plus_one - 1);
}

}  // namespace naru
