// How a protocol cuts a stream of bytes into requests. No I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/bytes.h"
#include "foundation/status.h"

namespace naru {

// A frame is its content with what the protocol puts before and behind it.
struct FrameBounds {
  size_t before = 0;
  size_t content = 0;
  size_t behind = 0;

  size_t total() const { return before + content + behind; }
};

// One for each connection; may remember how far it has looked.
class Framing {
 public:
  virtual ~Framing() = default;
  // `unread` begins with a frame, of which more may come: its bounds as soon as they are known, also if it is not whole
  // yet. An error: the stream cannot be understood any more. Called again, with at least these bytes, until the frame
  // is whole; the call after that is about the next frame.
  virtual Result<std::optional<FrameBounds>> find(BytesView unread) = 0;
};

// Kafka's: an int32 with the size of the content, then the content.
class SizePrefixedFraming final : public Framing {
 public:
  Result<std::optional<FrameBounds>> find(BytesView unread) override;
};

}  // namespace naru
