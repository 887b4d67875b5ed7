// From a response message to the chunks that go out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broker/request_context.h"
#include "kafka_protocol/frame.h"
#include "network/response.h"

namespace naru {

// Puts the records where the encoder left room for them: external records with id i are records[i], bytes or a range of
// a file. A frame that cannot be sent becomes the end of its connection, and of nothing else.
Response assemble_response(kafka::EncodedFrame frame, std::vector<OutputChunk> records);

template <class Message>
Response encode_reply(const RequestContext& context, const Message& message, std::vector<OutputChunk> records = {}) {
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
