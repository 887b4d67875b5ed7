#include "platform/simulated/sparse_content.h"

#include <algorithm>
#include <cstring>

namespace naru {

void SparseContent::resize(uint64_t size) {
  if (size < size_) {
    const uint64_t first_gone = (size + kBlockBytes - 1) / kBlockBytes;
    blocks_.erase(blocks_.lower_bound(first_gone), blocks_.end());
    const uint64_t last = size / kBlockBytes;
    if (size % kBlockBytes != 0 && blocks_.contains(last)) {
      Block& block = writable_block(last);
      std::fill(block.begin() + static_cast<ptrdiff_t>(size % kBlockBytes), block.end(), std::byte{0});
    }
  }
  size_ = size;
}

size_t SparseContent::read(uint64_t position, MutableBytesView to) const {
  if (position >= size_) return 0;
  const size_t total = std::min<uint64_t>(to.size(), size_ - position);
  for (size_t done = 0; done < total;) {
    const uint64_t at = position + done;
    const size_t within = at % kBlockBytes;
    const size_t length = std::min<size_t>(total - done, kBlockBytes - within);
    const auto found = blocks_.find(at / kBlockBytes);
    if (found == blocks_.end()) {
      std::memset(to.data() + done, 0, length);
    } else {
      std::memcpy(to.data() + done, found->second->data() + within, length);
    }
    done += length;
  }
  return total;
}

void SparseContent::write(uint64_t position, BytesView from) {
  for (size_t done = 0; done < from.size();) {
    const uint64_t at = position + done;
    const size_t within = at % kBlockBytes;
    const size_t length = std::min<size_t>(from.size() - done, kBlockBytes - within);
    std::memcpy(writable_block(at / kBlockBytes).data() + within, from.data() + done, length);
    done += length;
  }
  if (!from.empty()) size_ = std::max(size_, position + from.size());
}

void SparseContent::copy_sector(const SparseContent& from, uint64_t sector) {
  const uint64_t position = sector * kSectorBytes;
  if (position >= size_) return;
  std::array<std::byte, kSectorBytes> buffer{};
  from.read(position, buffer);
  write(position, BytesView(buffer).first(std::min(kSectorBytes, size_ - position)));
}

void SparseContent::copy_block(const SparseContent& from, uint64_t block) {
  if (block * kBlockBytes >= size_) return;
  const auto found = from.blocks_.find(block);
  if (found == from.blocks_.end()) {
    blocks_.erase(block);
  } else {
    blocks_[block] = found->second;
  }
}

uint64_t SparseContent::allocation_for(uint64_t position, uint64_t length) const {
  if (length == 0) return 0;
  uint64_t missing = 0;
  for (uint64_t block = position / kBlockBytes; block <= (position + length - 1) / kBlockBytes; ++block) {
    if (!blocks_.contains(block)) ++missing;
  }
  return missing * kBlockBytes;
}

Bytes SparseContent::bytes() const {
  Bytes all(size_);
  read(0, all);
  return all;
}

SparseContent::Block& SparseContent::writable_block(uint64_t index) {
  std::shared_ptr<Block>& block = blocks_[index];
  if (!block) {
    block = std::make_shared<Block>();
  } else if (block.use_count() > 1) {
    block = std::make_shared<Block>(*block);
  }
  return *block;
}

}  // namespace naru
