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
#include "foundation/time.h"
#include "network/connection_metrics.h"
#include "network/file_pins.h"
#include "platform/file_system.h"

namespace naru {

class Histogram;

struct FileRange {
  std::shared_ptr<const File> file;
  uint64_t position = 0;
  uint64_t length = 0;
  std::shared_ptr<const FilePinLease> pins = nullptr;  // of all ranges of the answer
};

using OutputChunk = std::variant<Bytes, FileRange>;

inline uint64_t chunk_size(const OutputChunk& chunk) {
  if (const auto* range = std::get_if<FileRange>(&chunk)) return range->length;
  return std::get<Bytes>(chunk).size();
}
// Memory that the chunk keeps: file ranges cost none.
inline uint64_t chunk_memory(const OutputChunk& chunk) {
  const auto* bytes = std::get_if<Bytes>(&chunk);
  return bytes == nullptr ? 0 : bytes->size();
}

// Files that the chunk keeps open.
inline size_t chunk_files(const OutputChunk& chunk) {
  return std::holds_alternative<FileRange>(chunk) ? 1 : 0;
}

// Where to write down how long an answer took from its end to the socket; nowhere without a histogram.
struct SendTime {
  Histogram* histogram = nullptr;
  MonotonicTime finished;
};

// One response frame, size field included. No chunks: the request gets no response (acks=0).
struct Response {
  std::vector<OutputChunk> chunks;
  // Set: the connection is closed for this reason once everything up to here has been sent.
  std::optional<std::string> close_reason;
  ConnectionEnd close_as = ConnectionEnd::refused_request;
  SendTime send_time;

  Response() = default;
  explicit Response(Bytes bytes) { chunks.emplace_back(std::move(bytes)); }

  uint64_t memory() const {
    uint64_t bytes = 0;
    for (const OutputChunk& chunk : chunks) bytes += chunk_memory(chunk);
    return bytes;
  }
  size_t files() const {
    size_t files = 0;
    for (const OutputChunk& chunk : chunks) files += chunk_files(chunk);
    return files;
  }
};

}  // namespace naru
