#include "broker/reply.h"

#include "foundation/assert.h"

namespace naru {

Response assemble_response(kafka::EncodedFrame frame, std::span<const FileRange> files) {
  if (frame.splices.empty()) return Response(std::move(frame.bytes));
  Response response;
  size_t copied = 0;
  const auto take_up_to = [&](size_t end) {
    const BytesView part = BytesView(frame.bytes).subspan(copied, end - copied);
    response.chunks.emplace_back(Bytes(part.begin(), part.end()));
    copied = end;
  };
  for (const kafka::Splice& splice : frame.splices) {
    const FileRange& file = files[splice.records.id];
    NARU_ASSERT(file.length == splice.records.size, "a file range of {} bytes where {} were announced", file.length,
                splice.records.size);
    take_up_to(splice.position);
    response.chunks.emplace_back(file);
  }
  take_up_to(frame.bytes.size());
  return response;
}

}  // namespace naru
