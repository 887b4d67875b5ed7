#include "network/output_buffer.h"

#include <array>
#include <utility>

namespace naru {
namespace {
constexpr size_t kPartsPerWrite = 32;
}

void OutputBuffer::push(Response response) {
  for (OutputChunk& chunk : response.chunks) {
    if (chunk_size(chunk) == 0) continue;
    memory_ += chunk_memory(chunk);
    files_ += chunk_files(chunk);
    chunks_.push_back(std::move(chunk));
  }
}

void OutputBuffer::clear() {
  chunks_.clear();
  sent_of_first_ = 0;
  memory_ = 0;
  files_ = 0;
}

IoResult OutputBuffer::drain_into(Stream& stream, uint64_t most) {
  uint64_t moved = 0;
  while (!chunks_.empty() && moved < most) {
    IoResult sent = send_some(stream);
    if (sent.kind != IoResult::Kind::progress) return sent;
    advance(sent.bytes);
    moved += sent.bytes;
  }
  return {.kind = IoResult::Kind::progress};
}

IoResult OutputBuffer::send_some(Stream& stream) {
  if (const auto* range = std::get_if<FileRange>(&chunks_.front())) {
    return stream.send_file(*range->file, range->position + sent_of_first_, range->length - sent_of_first_);
  }
  std::array<BytesView, kPartsPerWrite> parts;
  size_t count = 0;
  for (const OutputChunk& chunk : chunks_) {
    const auto* bytes = std::get_if<Bytes>(&chunk);
    if (bytes == nullptr || count == parts.size()) break;
    parts[count] = count == 0 ? BytesView(*bytes).subspan(sent_of_first_) : BytesView(*bytes);
    ++count;
  }
  return stream.write_some({parts.data(), count}, count < chunks_.size());
}

void OutputBuffer::advance(size_t bytes) {
  sent_of_first_ += bytes;
  while (!chunks_.empty() && sent_of_first_ >= chunk_size(chunks_.front())) {
    sent_of_first_ -= chunk_size(chunks_.front());
    memory_ -= chunk_memory(chunks_.front());
    files_ -= chunk_files(chunks_.front());
    chunks_.pop_front();
  }
}

}  // namespace naru
