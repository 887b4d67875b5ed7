// The framing that Java's snappy library puts around snappy blocks: a 16-byte stream header, then per block a 4-byte
// big-endian length and the block. Some clients send it, some send one bare block; there is no flag to tell.
#pragma once

#include <array>
#include <cstddef>

namespace naru::snappy_framing {

inline constexpr std::array kMagic{std::byte{0x82}, std::byte{'S'}, std::byte{'N'}, std::byte{'A'},
                                   std::byte{'P'},  std::byte{'P'}, std::byte{'Y'}, std::byte{0}};
// The magic and two version numbers. Readers ignore the latter, because not everybody writes them in the same byte
// order.
inline constexpr size_t kStreamHeaderSize = 16;
inline constexpr size_t kBlockSize = 32uz * 1024;

}  // namespace naru::snappy_framing
