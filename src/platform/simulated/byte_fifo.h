// Bytes that enter at the back and leave at the front.
#pragma once

#include "foundation/bytes.h"

namespace naru {

class ByteFifo {
 public:
  size_t size() const { return bytes_.size() - begin_; }
  bool empty() const { return size() == 0; }
  BytesView view() const { return BytesView(bytes_).subspan(begin_); }

  void append(BytesView from) { append_bytes(bytes_, from); }
  void drop_front(size_t count) {
    begin_ += count;
    if (begin_ < bytes_.size() / 2 || begin_ == 0) return;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(begin_));
    begin_ = 0;
  }
  void keep_front(size_t count) { bytes_.resize(begin_ + count); }

 private:
  Bytes bytes_;
  size_t begin_ = 0;  // what is before it has left
};

}  // namespace naru
