// What goes out on a connection: bytes of ours and ranges of files, sent one behind the other without copying the
// latter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "foundation/bytes.h"
#include "platform/file_system.h"

namespace naru {

struct FileRange {
  std::shared_ptr<const File> file;
  uint64_t position = 0;
  uint64_t length = 0;
};

using OutputChunk = std::variant<Bytes, FileRange>;

inline uint64_t chunk_size(const OutputChunk& chunk) {
  if (const auto* range = std::get_if<FileRange>(&chunk)) return range->length;
  return std::get<Bytes>(chunk).size();
}

// One response frame, size field included. No chunks: the request gets no response (acks=0).
struct Response {
  std::vector<OutputChunk> chunks;
  // Set: the connection is closed for this reason once everything up to here has been sent.
  std::optional<std::string> close_reason;

  Response() = default;
  explicit Response(Bytes bytes) { chunks.emplace_back(std::move(bytes)); }
};

}  // namespace naru
