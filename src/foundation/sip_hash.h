// SipHash-2-4 with 128 bits: a hash that nobody can aim at without knowing its key.
//
// For tables whose keys come from strangers. Not for anything that is stored: the key differs from run to run.
#pragma once

#include <cstdint>

#include "foundation/bytes.h"

namespace naru {

struct SipKey {
  uint64_t low = 0;
  uint64_t high = 0;
};

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
};

Hash128 sip_hash(const SipKey& key, BytesView bytes);

}  // namespace naru
