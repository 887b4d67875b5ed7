// A transaction that was aborted, as a log remembers it: in ".aborted-index" beside the segment with its marker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "foundation/ids.h"

namespace naru {

struct AbortedTransaction {
  static constexpr uint64_t kMagic = 0x6e6172752e747869;  // "naru.txi"
  static constexpr size_t kSize = 38;

  ProducerId producer_id = kNoProducerId;
  Offset first_offset = kNoOffset;
  Offset last_offset = kNoOffset;  // of the marker
  // Every transaction that begins below had ended when the marker was appended: whoever reads to there needs no later
  // entry.
  Offset stable_end = kNoOffset;

  void encode(std::byte* to) const;
  static std::optional<AbortedTransaction> decode(const std::byte* from);
  bool operator==(const AbortedTransaction&) const = default;
};

}  // namespace naru
