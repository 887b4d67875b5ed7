// Decodes arbitrary bytes as any request in any version. What decodes can be encoded again, in exactly the announced
// size.
#include <cstdint>

#include "foundation/assert.h"
#include "foundation/byte_reader.h"
#include "kafka_protocol/messages/all_messages.h"
#include "kafka_protocol/request_header.h"
#include "kafka_protocol/wire_reader.h"
#include "kafka_protocol/wire_writer.h"

namespace naru::kafka {
namespace {

template <class Message>
void decode_and_encode(BytesView body, uint8_t version_choice) {
  constexpr int kVersions = Message::kMaxVersion - Message::kMinVersion + 1;
  const auto version = static_cast<int16_t>(Message::kMinVersion + version_choice % kVersions);
  WireReader reader(body, Message::kName, version);
  Message message;
  decode(reader, message, version);
  ignore(reader.finish());
  to_json(message, version);
  if (!reader.ok()) return;
  Bytes encoded;
  WireWriter writer(encoded);
  encode(writer, message, version);
  NARU_ASSERT(encoded.size() == encoded_size(message, version), "{} v{} has another size", Message::kName, version);
}

template <class... Messages>
struct Choose {
  static void run(uint8_t choice, BytesView body, uint8_t version_choice) {
    size_t index = choice % sizeof...(Messages);
    ((index-- == 0 ? decode_and_encode<Messages>(body, version_choice) : void()), ...);
  }
};

}  // namespace
}  // namespace naru::kafka

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace naru;
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  kafka::WireReader frame(bytes);
  const Result<kafka::DecodedRequestHeader> header = kafka::decode_request_header(frame);
  if (header) NARU_ASSERT(header->api != nullptr, "a header without its API");
  if (size < 2) return 0;
  kafka::AllMessages<kafka::Choose>::run(data[0], bytes.subspan(2), data[1]);
  return 0;
}
