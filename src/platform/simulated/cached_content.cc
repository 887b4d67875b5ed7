#include "platform/simulated/cached_content.h"

#include <algorithm>
#include <array>

namespace naru {
namespace {

constexpr uint64_t kSectorBytes = SparseContent::kSectorBytes;
constexpr uint64_t kSectorsPerBlock = SparseContent::kBlockBytes / kSectorBytes;
constexpr uint8_t kWholeBlock = 0xff;
static_assert(kSectorsPerBlock == 8);

template <class Visit>
void for_each_sector(const std::map<uint64_t, uint8_t>& blocks, Visit visit) {
  for (const auto& [block, mask] : blocks) {
    for (uint64_t i = 0; i < kSectorsPerBlock; ++i) {
      if ((mask >> i & 1) != 0) visit(block * kSectorsPerBlock + i);
    }
  }
}

}  // namespace

void CachedContent::write(uint64_t position, BytesView from) {
  if (from.empty()) return;
  mark_dirty(position, position + from.size());
  cached_.write(position, from);
}

void CachedContent::truncate(uint64_t size) {
  // What is cut off may come back after a crash if the file grows again before a sync: old bytes or zeros.
  if (size < cached_.size()) mark_dirty(size, cached_.size());
  cached_.resize(size);
}

void CachedContent::sync() {
  durable_.resize(cached_.size());
  for (const auto& [block, mask] : dirty_) {
    if (mask == kWholeBlock) {
      durable_.copy_block(cached_, block);
      continue;
    }
    for (uint64_t i = 0; i < kSectorsPerBlock; ++i) {
      if ((mask >> i & 1) != 0) durable_.copy_sector(cached_, block * kSectorsPerBlock + i);
    }
  }
  dirty_.clear();
}

void CachedContent::fail_sync() {
  dirty_.clear();
}

void CachedContent::crash(Unsynced unsynced, Random& random) {
  switch (unsynced) {
    case Unsynced::lost:
      break;
    case Unsynced::kept:
      sync();
      break;
    case Unsynced::mixed: {
      SparseContent survivor = durable_;
      const uint64_t smaller = std::min(durable_.size(), cached_.size());
      const uint64_t larger = std::max(durable_.size(), cached_.size());
      survivor.resize(smaller + random.below(larger - smaller + 1));
      keep_some_sectors(survivor, random);
      durable_ = std::move(survivor);
      break;
    }
  }
  cached_ = durable_;
  dirty_.clear();
}

void CachedContent::flip_bit(uint64_t position, unsigned bit) {
  for (SparseContent* image : {&cached_, &durable_}) {
    std::array<std::byte, 1> byte{};
    if (image->read(position, byte) != 1) continue;
    byte[0] ^= static_cast<std::byte>(1U << (bit % 8));
    image->write(position, byte);
  }
}

void CachedContent::cut(uint64_t size) {
  for (SparseContent* image : {&cached_, &durable_}) image->resize(std::min(size, image->size()));
}

void CachedContent::mark_dirty(uint64_t begin, uint64_t end) {
  for (uint64_t sector = begin / kSectorBytes; sector * kSectorBytes < end; ++sector) {
    dirty_[sector / kSectorsPerBlock] |= static_cast<uint8_t>(1U << (sector % kSectorsPerBlock));
  }
}

void CachedContent::keep_some_sectors(SparseContent& survivor, Random& random) const {
  enum : uint64_t { keep_none, keep_all, keep_half, keep_few, styles };
  const uint64_t style = random.below(styles);
  uint64_t sectors = 0;
  for_each_sector(dirty_, [&](uint64_t sector) {
    ++sectors;
    const bool keep =
        style == keep_all || (style == keep_half && random.one_in(2)) || (style == keep_few && random.one_in(8));
    if (keep) survivor.copy_sector(cached_, sector);
  });
  if (sectors == 0 || random.one_in(2)) return;
  uint64_t skip = random.below(sectors);
  for_each_sector(dirty_, [&](uint64_t sector) {
    if (skip-- == 0) tear_sector(survivor, sector, random);
  });
}

// A sector whose write the power cut interrupted: new bytes up to some point, old ones behind it, or the other way
// round.
void CachedContent::tear_sector(SparseContent& survivor, uint64_t sector, Random& random) const {
  const uint64_t position = sector * kSectorBytes;
  if (position >= survivor.size()) return;
  std::array<std::byte, kSectorBytes> first{};
  std::array<std::byte, kSectorBytes> second{};
  cached_.read(position, first);
  durable_.read(position, second);
  if (random.one_in(2)) std::swap(first, second);
  const auto edge = static_cast<ptrdiff_t>(1 + random.below(kSectorBytes - 1));
  std::copy(second.begin() + edge, second.end(), first.begin() + edge);
  survivor.write(position, BytesView(first).first(std::min(kSectorBytes, survivor.size() - position)));
}

}  // namespace naru
