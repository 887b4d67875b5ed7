// A simulated file as two images: what the page cache holds (every read sees it) and what is on the disk. They differ
// in dirty sectors and in size until a sync; a crash leaves a mixture.
#pragma once

#include <cstdint>
#include <map>

#include "platform/random.h"
#include "platform/simulated/sparse_content.h"

namespace naru {

// What a crash does with everything that was not synced.
enum class Unsynced : uint8_t {
  lost,   // the disk as of the last syncs
  kept,   // as if everything had been written back just in time
  mixed,  // a random part of it: some sectors, perhaps one torn, a size in between; some names, some not
};

class CachedContent {
 public:
  uint64_t size() const { return cached_.size(); }
  size_t read(uint64_t position, MutableBytesView to) const { return cached_.read(position, to); }
  void write(uint64_t position, BytesView from);
  void truncate(uint64_t size);

  void sync();
  // A sync that failed: the dirty sectors count as clean, are still readable, and will never reach the disk.
  void fail_sync();
  void crash(Unsynced unsynced, Random& random);

  // By hand, in both images.
  void flip_bit(uint64_t position, unsigned bit);
  void cut(uint64_t size);

  const SparseContent& cached() const { return cached_; }
  const SparseContent& durable() const { return durable_; }

 private:
  void mark_dirty(uint64_t begin, uint64_t end);
  void keep_some_sectors(SparseContent& survivor, Random& random) const;
  void tear_sector(SparseContent& survivor, uint64_t sector, Random& random) const;

  SparseContent cached_;
  SparseContent durable_;
  std::map<uint64_t, uint8_t> dirty_;  // block -> one bit for each of its eight sectors
};

}  // namespace naru
