// Big-endian integers in unaligned memory: the byte order of the Kafka protocol and of our own files.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>

#include "foundation/bytes.h"

namespace naru {

template <std::integral T>
T load_big_endian(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
  return value;
}

template <std::integral T>
void store_big_endian(std::byte* to, T value) {
  if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace naru
