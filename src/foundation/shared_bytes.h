// A view of bytes that keeps the memory behind it alive. Several requests read in one go share one block.
#pragma once

#include <memory>
#include <utility>

#include "foundation/bytes.h"

namespace naru {

class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::shared_ptr<const void> owner, BytesView view) : owner_(std::move(owner)), view_(view) {}
  explicit SharedBytes(Bytes bytes) {
    auto owned = std::make_shared<const Bytes>(std::move(bytes));
    view_ = *owned;
    owner_ = std::move(owned);
  }

  BytesView view() const { return view_; }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  // The same memory, narrower.
  SharedBytes slice(size_t begin, size_t length) const { return {owner_, view_.subspan(begin, length)}; }

 private:
  std::shared_ptr<const void> owner_;
  BytesView view_;
};

}  // namespace naru
