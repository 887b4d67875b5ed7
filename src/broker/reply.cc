#include "broker/reply.h"

namespace naru {
namespace {

Response no_answer(const char* why) {
  return close_connection(std::string("its answer cannot be encoded: ") + why, ConnectionEnd::no_answer);
}

}  // namespace

uint64_t size_of(const std::vector<OutputChunk>& chunks) {
  uint64_t bytes = 0;
  for (const OutputChunk& chunk : chunks) bytes += chunk_size(chunk);
  return bytes;
}

Response assemble_response(kafka::EncodedFrame frame, std::vector<OutputChunk> records) {
  if (frame.failure != nullptr) return no_answer(frame.failure);
  if (frame.splices.empty()) return Response(std::move(frame.bytes));
  Response response;
  size_t copied = 0;
  const auto take_up_to = [&](size_t end) {
    const BytesView part = BytesView(frame.bytes).subspan(copied, end - copied);
    response.chunks.emplace_back(Bytes(part.begin(), part.end()));
    copied = end;
  };
  for (const kafka::Splice& splice : frame.splices) {
    OutputChunk& chunk = records[splice.records.id];
    if (chunk_size(chunk) != splice.records.size) return no_answer("records are not of the size that was announced");
    take_up_to(splice.position);
    response.chunks.push_back(std::move(chunk));
  }
  take_up_to(frame.bytes.size());
  return response;
}

}  // namespace naru
