#include "client/coordinator.h"

#include "client/broker_error.h"
#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"

namespace naru::client {
namespace {

// From 4 on keys are a list, and each has its own error.
constexpr VersionRange kFindCoordinatorVersions{.min = 4};

std::string describe_key(CoordinatorKind kind, const std::string& key) {
  return fmt::format("{} {}", kind == CoordinatorKind::group ? "group" : "transactional id", key);
}

}  // namespace

bool coordinator_may_answer_soon(ErrorCode code) {
  return code == ErrorCode::coordinator_load_in_progress || code == ErrorCode::coordinator_not_available ||
         code == ErrorCode::not_coordinator;
}

Task<Result<Coordinator>> find_coordinator(ClusterClient& client, CoordinatorKind kind, std::string key) {
  NARU_CO_TRY_ASSIGN(const Connection any, co_await client.any_broker());
  kafka::FindCoordinatorRequest request;
  request.key_type = static_cast<int8_t>(kind);
  request.coordinator_keys = {key};
  NARU_CO_TRY_ASSIGN(const auto response, co_await any->call<kafka::FindCoordinatorResponse>(
                                              request, client.options().request_timeout, kFindCoordinatorVersions));
  for (const auto& found : response.coordinators) {
    if (found.key != key) continue;
    NARU_CO_TRY(broker_error(found.error_code, describe_key(kind, key), found.error_message));
    NARU_CO_TRY_ASSIGN(Connection connection, co_await client.broker(found.node_id));
    co_return Coordinator{.id = found.node_id, .connection = std::move(connection)};
  }
  co_return failure(ErrorCode::network_exception, "{}: the broker's answer leaves it out", describe_key(kind, key));
}

}  // namespace naru::client
