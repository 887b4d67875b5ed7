// From a response message to the chunks that go out.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "broker/request_context.h"
#include "kafka_protocol/frame.h"
#include "network/response.h"

namespace naru {

// Puts the file ranges where the encoder left room for them: external records with id i are files[i].
Response assemble_response(kafka::EncodedFrame frame, std::span<const FileRange> files);

template <class Message>
Response encode_reply(const RequestContext& context, const Message& message, std::span<const FileRange> files = {}) {
  return assemble_response(kafka::encode_response_frame(message, context.version, context.correlation_id), files);
}

// No answer, and the connection is closed: what Kafka does where the protocol has no way to say it.
inline Response close_connection(std::string reason) {
  Response response;
  response.close_reason = std::move(reason);
  return response;
}

}  // namespace naru
