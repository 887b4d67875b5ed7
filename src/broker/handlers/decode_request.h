// What every handler does first.
#pragma once

#include "broker/reply.h"
#include "broker/request_context.h"
#include "kafka_protocol/wire_reader.h"

namespace naru {

// Decodes the request; a body that does not decode closes the connection, as Kafka does, and so does one that there is
// no memory for: until it is decoded, nothing is known that could be answered. Bytes behind the body are
// ignored, as Kafka does: librdkafka 2.12 and 2.16 leave three of them when they ask for all topics.
template <class Message>
std::optional<Response> decode_or_close(const RequestContext& context, kafka::WireReader& reader, Message& message) {
  decode(reader, message, context.version);
  const Status status = reader.status();
  if (status.ok()) return std::nullopt;
  context.ignore_further_input();
  return close_connection(status.to_string(), status == ErrorCode::out_of_memory_budget
                                                  ? ConnectionEnd::memory
                                                  : ConnectionEnd::refused_request);
}

}  // namespace naru
