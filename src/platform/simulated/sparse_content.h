// The bytes of a simulated file: blocks that were never written read as zeros, and copies share blocks until one
// writes. So a cached and a durable image of the same file, and clones of a whole disk, cost only what differs between
// them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "foundation/bytes.h"

namespace naru {

class SparseContent {
 public:
  static constexpr uint64_t kBlockBytes = 4096;
  static constexpr uint64_t kSectorBytes = 512;

  uint64_t size() const { return size_; }
  // Bytes beyond the new size are gone: growing again shows zeros.
  void resize(uint64_t size);
  // Number of bytes read; fewer than asked for at the end.
  size_t read(uint64_t position, MutableBytesView to) const;
  // Grows the file if need be.
  void write(uint64_t position, BytesView from);
  // Takes one sector from another image; what reaches beyond this file's size is left out.
  void copy_sector(const SparseContent& from, uint64_t sector);
  void copy_block(const SparseContent& from, uint64_t block);

  uint64_t allocated_bytes() const { return blocks_.size() * kBlockBytes; }
  // How many more bytes a write to this range would allocate.
  uint64_t allocation_for(uint64_t position, uint64_t length) const;
  Bytes bytes() const;

 private:
  using Block = std::array<std::byte, kBlockBytes>;

  Block& writable_block(uint64_t index);

  std::map<uint64_t, std::shared_ptr<Block>> blocks_;
  uint64_t size_ = 0;
};

}  // namespace naru
