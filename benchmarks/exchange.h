// Kafka requests and their answers, one at a time, for the load generators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/measurement.h"
#include "kafka_protocol/frame.h"
#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"

namespace naru::bench {

template <class Request>
void send_request(int socket, const Request& request, int16_t version) {
  const Bytes frame = kafka::encode_request_frame(request, version, 0, "bench").bytes;
  write_all(socket, frame.data(), frame.size());
}

// Blocks for one answer. What it refers to is valid until the next call.
template <class Response>
Response read_response(int socket, int16_t version) {
  static std::vector<std::byte> buffer;
  kafka::WireReader reader(read_frame(socket, buffer));
  Response response;
  kafka::decode_response(reader, response, version);
  if (!reader.finish().ok()) die("decoding an answer");
  return response;
}

[[noreturn]] inline void die_of(std::string_view what, ErrorCode code) {
  std::fprintf(stderr, "%.*s: error code %d\n", static_cast<int>(what.size()), what.data(), static_cast<int>(code));
  std::exit(1);
}

enum class CoordinatorOf : int8_t { group = 0, transaction = 1 };

// A new broker makes the coordinators' topic first.
inline void find_coordinator(uint16_t port, std::string_view key, CoordinatorOf kind) {
  constexpr int16_t kVersion = 3;
  const int socket = connect_to(port);
  kafka::FindCoordinatorRequest request;
  request.key = key;
  request.key_type = static_cast<int8_t>(kind);
  send_request(socket, request, kVersion);
  const auto found = read_response<kafka::FindCoordinatorResponse>(socket, kVersion);
  ::close(socket);
  if (found.error_code != ErrorCode::none) die_of("there is no coordinator", found.error_code);
}

}  // namespace naru::bench
