// From a response message to the chunks that go out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broker/request_context.h"
#include "kafka_protocol/frame.h"
#include "network/response.h"

namespace naru {

uint64_t size_of(const std::vector<OutputChunk>& chunks);

// Puts the records where the encoder left room for them: external records with id i are records[i], bytes or a range of
// a file. A frame that cannot be sent becomes the end of its connection, and of nothing else.
Response assemble_response(kafka::EncodedFrame frame, std::vector<OutputChunk> records);

// Says how long the caller is throttled, where the message has a field for it.
template <class Message>
Response encode_reply(const RequestContext& context, Message&& message, std::vector<OutputChunk> records = {}) {
  if constexpr (requires { message.throttle_time_ms; }) {
    message.throttle_time_ms = static_cast<int32_t>(context.quota.charge(size_of(records)).count());
  }
  return assemble_response(kafka::encode_response_frame(message, context.version, context.correlation_id),
                           std::move(records));
}

// No answer, and the connection is closed: what Kafka does where the protocol has no way to say it.
inline Response close_connection(std::string reason, ConnectionEnd close_as = ConnectionEnd::refused_request) {
  Response response;
  response.close_reason = std::move(reason);
  response.close_as = close_as;
  return response;
}

inline Response no_memory_for_answer() {
  return close_connection("the memory budget has no room for its answer", ConnectionEnd::memory);
}

}  // namespace naru
