// FindCoordinator: which broker a group's or a transaction's requests go to.
#include <optional>
#include <set>

#include "broker/api_handlers.h"
#include "broker/coordinator_topic.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/handlers/metadata_words.h"
#include "broker/handlers/transaction_words.h"
#include "broker/missing_topics.h"
#include "broker/turns.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithSeveralKeys = 4;
constexpr int8_t kGroupKey = 0;
constexpr int8_t kTransactionKey = 1;

using Coordinator = kafka::FindCoordinatorResponse::Coordinator;

Status problem_with(const BrokerServices& services, const RequestContext& context, int8_t key_type,
                    std::string_view key) {
  if (key_type == kTransactionKey) {
    return Status(transactional_id_access(services, context, Operation::describe, key));
  }
  if (key_type != kGroupKey) return error(ErrorCode::invalid_request, "there is no coordinator of kind {}", key_type);
  return Status(group_access(services, context, Operation::describe, key));
}

// `topic_made`: what became of making the coordinators' topic; not asked for twice in one request.
Task<Coordinator> find(const BrokerServices& services, const RequestContext& context, int8_t key_type,
                       std::string_view key, std::optional<Status>& topic_made) {
  Coordinator found;
  found.key = key;
  found.node_id = kNoBroker;
  found.port = -1;
  Status status = problem_with(services, context, key_type, key);
  const std::string_view topic = key_type == kTransactionKey ? kTransactionsTopic : kOffsetsTopic;
  if (status.ok() && services.metadata.current()->find_topic(topic) == nullptr) {
    if (!topic_made) topic_made = (co_await make_missing_topics(services, {std::string(topic)})).front();
    status = *topic_made;
  }
  if (status.ok()) {
    const MetadataImagePtr image = services.metadata.current();
    const BrokerId id = coordinator_broker(*image, topic, key);
    const BrokerMetadata* broker = image->find_broker(id);
    const auto address = broker != nullptr ? address_for(context, *broker) : std::nullopt;
    if (address) {
      found.node_id = id;
      found.host = address->host;
      found.port = address->port;
      co_return found;
    }
  }
  const bool refused = status == ErrorCode::group_authorization_failed || status == ErrorCode::invalid_request ||
                       status == ErrorCode::transactional_id_authorization_failed;
  found.error_code = refused ? status.code() : ErrorCode::coordinator_not_available;
  found.error_message = error_text(status.ok() ? Status(found.error_code) : status);
  co_return found;
}

}  // namespace

Task<Response> handle_find_coordinator(const BrokerServices& services, const RequestContext& context,
                                       kafka::WireReader& reader) {
  kafka::FindCoordinatorRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  std::optional<Status> topic_made;
  kafka::FindCoordinatorResponse response;
  if (context.version >= kFirstVersionWithSeveralKeys) {
    std::set<std::string_view> answered;  // once each: a short request must not have an answer of gigabytes
    for (const std::string_view key : request.coordinator_keys) {
      co_await turns.step();
      if (!answered.insert(key).second) continue;
      response.coordinators.push_back(co_await find(services, context, request.key_type, key, topic_made));
    }
    co_await turns.to_worker_if_large();
    co_return encode_reply(context, response);
  }
  const Coordinator found = co_await find(services, context, request.key_type, request.key, topic_made);
  response.error_code = found.error_code;
  response.error_message = found.error_message;
  response.node_id = found.node_id;
  response.host = found.host;
  response.port = found.port;
  co_return encode_reply(context, response);
}

}  // namespace naru
