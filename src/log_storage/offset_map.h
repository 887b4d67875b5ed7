// The newest offset of each key, in bounded memory: what compaction knows of the records that are still to come.
//
// Keys are represented by 128 bits of a hash whose secret is drawn for each run of the broker: that two keys are taken
// for one is as good as impossible, and nobody can choose keys so that it happens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/sip_hash.h"

namespace naru {

// Not thread-safe. Memory is taken once, when it is made.
class OffsetMap {
 public:
  static constexpr size_t kBytesPerKey = 32;

  // For at most `expected_keys`, as far as `buffer_bytes` allow; at least one fits.
  OffsetMap(const SipKey& hash_key, uint64_t buffer_bytes, uint64_t expected_keys);

  // Offsets of one key come in rising order. False: there is no room for another key, and nothing was changed.
  bool put(BytesView key, Offset offset);
  std::optional<Offset> find(BytesView key) const;

  uint64_t size() const { return size_; }
  uint64_t capacity() const { return capacity_; }

 private:
  struct Slot {
    Hash128 hash;
    int64_t offset_plus_one = 0;  // 0: free
  };
  size_t slot_of(const Hash128& hash) const;

  const SipKey hash_key_;
  const uint64_t capacity_;
  std::vector<Slot> slots_;
  uint64_t size_ = 0;
};

}  // namespace naru
