#include "foundation/sip_hash.h"

#include <bit>
#include <cstring>

namespace naru {
namespace {

static_assert(std::endian::native == std::endian::little, "words of the input are read as they are");

struct SipState {
  uint64_t v0, v1, v2, v3;

  explicit SipState(const SipKey& key)
      : v0(key.low ^ 0x736f6d6570736575),
        v1(key.high ^ 0x646f72616e646f6d ^ 0xee),  // 0xee: the variant with 128 bits
        v2(key.low ^ 0x6c7967656e657261),
        v3(key.high ^ 0x7465646279746573) {}

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1, v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1, v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2, v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }
  void absorb(uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  uint64_t squeeze() {
    rounds(4);
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

Hash128 sip_hash(const SipKey& key, BytesView bytes) {
  SipState state(key);
  const size_t length = bytes.size();
  uint64_t word = 0;
  for (; bytes.size() >= sizeof(word); bytes = bytes.subspan(sizeof(word))) {
    std::memcpy(&word, bytes.data(), sizeof(word));
    state.absorb(word);
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  state.absorb(word | uint64_t{length} << 56);
  Hash128 hash;
  state.v2 ^= 0xee;
  hash.low = state.squeeze();
  state.v1 ^= 0xdd;
  hash.high = state.squeeze();
  return hash;
}

}  // namespace naru
