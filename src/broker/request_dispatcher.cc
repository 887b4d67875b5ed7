#include "broker/request_dispatcher.h"

#include <algorithm>
#include <array>
#include <utility>

#include "broker/api_handlers.h"
#include "broker/controller_link.h"
#include "broker/handlers/broker_loggers.h"
#include "broker/reply.h"
#include "foundation/log.h"
#include "foundation/request_canary.h"
#include "kafka_protocol/messages/api_versions_response.h"

namespace naru {
namespace {

struct HandlerRow {
  kafka::ApiKey key;
  ApiHandler* handler;
  bool only_by_controller = false;  // elsewhere, what clients ask is passed on to it
  uint64_t memory_multiple = 8;     // see DecodedMemory
  QuotaKind quota = QuotaKind::request;
};
constexpr bool kOnlyByController = true;

constexpr std::array kHandlers{
    HandlerRow{kafka::ApiKey::produce, handle_produce, false, 20, QuotaKind::produce},
    HandlerRow{kafka::ApiKey::fetch, handle_fetch, false, 8, QuotaKind::fetch},
    HandlerRow{kafka::ApiKey::list_offsets, handle_list_offsets},
    HandlerRow{kafka::ApiKey::metadata, handle_metadata},
    HandlerRow{kafka::ApiKey::offset_commit, handle_offset_commit},
    HandlerRow{kafka::ApiKey::offset_fetch, handle_offset_fetch},
    HandlerRow{kafka::ApiKey::find_coordinator, handle_find_coordinator},
    HandlerRow{kafka::ApiKey::join_group, handle_join_group},
    HandlerRow{kafka::ApiKey::heartbeat, handle_heartbeat},
    HandlerRow{kafka::ApiKey::leave_group, handle_leave_group},
    HandlerRow{kafka::ApiKey::sync_group, handle_sync_group},
    HandlerRow{kafka::ApiKey::describe_groups, handle_describe_groups},
    HandlerRow{kafka::ApiKey::list_groups, handle_list_groups},
    HandlerRow{kafka::ApiKey::sasl_handshake, handle_sasl_handshake},
    HandlerRow{kafka::ApiKey::api_versions, handle_api_versions},
    HandlerRow{kafka::ApiKey::create_topics, handle_create_topics, kOnlyByController},
    HandlerRow{kafka::ApiKey::delete_topics, handle_delete_topics, kOnlyByController},
    HandlerRow{kafka::ApiKey::delete_records, handle_delete_records},
    HandlerRow{kafka::ApiKey::init_producer_id, handle_init_producer_id},
    HandlerRow{kafka::ApiKey::offset_for_leader_epoch, handle_offset_for_leader_epoch},
    HandlerRow{kafka::ApiKey::add_partitions_to_txn, handle_add_partitions_to_txn},
    HandlerRow{kafka::ApiKey::add_offsets_to_txn, handle_add_offsets_to_txn},
    HandlerRow{kafka::ApiKey::end_txn, handle_end_txn},
    HandlerRow{kafka::ApiKey::write_txn_markers, handle_write_txn_markers, false, 60},
    HandlerRow{kafka::ApiKey::txn_offset_commit, handle_txn_offset_commit},
    HandlerRow{kafka::ApiKey::describe_acls, handle_describe_acls},
    HandlerRow{kafka::ApiKey::create_acls, handle_create_acls},
    HandlerRow{kafka::ApiKey::delete_acls, handle_delete_acls},
    HandlerRow{kafka::ApiKey::describe_configs, handle_describe_configs},
    HandlerRow{kafka::ApiKey::alter_configs, handle_alter_configs, kOnlyByController},
    HandlerRow{kafka::ApiKey::describe_log_dirs, handle_describe_log_dirs},
    HandlerRow{kafka::ApiKey::sasl_authenticate, handle_sasl_authenticate},
    HandlerRow{kafka::ApiKey::create_partitions, handle_create_partitions, kOnlyByController},
    HandlerRow{kafka::ApiKey::create_delegation_token, handle_create_delegation_token},
    HandlerRow{kafka::ApiKey::renew_delegation_token, handle_renew_delegation_token},
    HandlerRow{kafka::ApiKey::expire_delegation_token, handle_expire_delegation_token},
    HandlerRow{kafka::ApiKey::describe_delegation_token, handle_describe_delegation_token},
    HandlerRow{kafka::ApiKey::delete_groups, handle_delete_groups},
    HandlerRow{kafka::ApiKey::elect_leaders, handle_elect_leaders, kOnlyByController, 120},
    HandlerRow{kafka::ApiKey::incremental_alter_configs, handle_incremental_alter_configs, kOnlyByController},
    HandlerRow{kafka::ApiKey::list_partition_reassignments, handle_list_partition_reassignments},
    HandlerRow{kafka::ApiKey::offset_delete, handle_offset_delete},
    HandlerRow{kafka::ApiKey::describe_client_quotas, handle_describe_client_quotas},
    HandlerRow{kafka::ApiKey::describe_user_scram_credentials, handle_describe_user_scram_credentials, false, 24},
    HandlerRow{kafka::ApiKey::describe_quorum, handle_describe_quorum, kOnlyByController, 60},
    HandlerRow{kafka::ApiKey::alter_partition, handle_alter_partition},
    HandlerRow{kafka::ApiKey::update_features, handle_update_features},
    HandlerRow{kafka::ApiKey::describe_cluster, handle_describe_cluster},
    HandlerRow{kafka::ApiKey::describe_producers, handle_describe_producers, false, 60},
    HandlerRow{kafka::ApiKey::unregister_broker, handle_unregister_broker, kOnlyByController},
    HandlerRow{kafka::ApiKey::describe_transactions, handle_describe_transactions},
    HandlerRow{kafka::ApiKey::list_transactions, handle_list_transactions, false, 2},
    HandlerRow{kafka::ApiKey::allocate_producer_ids, handle_allocate_producer_ids},
    HandlerRow{kafka::ApiKey::consumer_group_heartbeat, handle_consumer_group_heartbeat},
    HandlerRow{kafka::ApiKey::consumer_group_describe, handle_consumer_group_describe},
    HandlerRow{kafka::ApiKey::list_config_resources, handle_list_config_resources},
    HandlerRow{kafka::ApiKey::describe_topic_partitions, handle_describe_topic_partitions},
    HandlerRow{kafka::ApiKey::naru_metadata, handle_naru_metadata},
    HandlerRow{kafka::ApiKey::naru_broker_stopping, handle_naru_broker_stopping},
    HandlerRow{kafka::ApiKey::naru_topics_removed, handle_naru_topics_removed},
    HandlerRow{kafka::ApiKey::naru_missing_topics, handle_naru_missing_topics},
    HandlerRow{kafka::ApiKey::naru_offline_logs, handle_naru_offline_logs},
    HandlerRow{kafka::ApiKey::naru_add_partitions_to_txn, handle_naru_add_partitions_to_txn},
    HandlerRow{kafka::ApiKey::naru_producers, handle_naru_producers},
    HandlerRow{kafka::ApiKey::naru_forward, handle_naru_forward},
};
static_assert(std::ranges::equal(kHandlers, kafka::kApiTable, {}, &HandlerRow::key, &kafka::ApiRow::key),
              "every advertised API has a handler, in the order of the API table");

const HandlerRow& find_handler(const kafka::ApiRow& api) {
  return kHandlers[&api - kafka::kApiTable.data()];
}

// What was passed on is answered here, so that nothing goes round in circles.
bool should_be_passed_on(const HandlerRow& row, const RequestContext& context, const kafka::WireReader& body,
                         size_t max_frame_bytes) {
  if (!row.only_by_controller || context.was_forwarded) return false;
  if (context.frame.size() + kForwardingBytes > max_frame_bytes) return false;
  return row.key != kafka::ApiKey::incremental_alter_configs || !asks_for_loggers(context, body);
}

// What brokers ask each other is nobody else's business: as for an API that does not exist, there is no answer.
std::optional<Response> refuse_stranger(const BrokerServices& services, const Caller& caller,
                                        const kafka::ApiRow& api) {
  if (!api.between_brokers) return std::nullopt;
  if (services.authorizer.authorize(caller, Operation::cluster_action, ResourceType::cluster, kClusterResource)) {
    return std::nullopt;
  }
  return close_connection(
      fmt::format("{} is for brokers, and the caller on listener {} may not act as one", api.name, caller.listener));
}

// KIP-511: a client that is newer than we are learns our range from a version 0 answer.
Response refuse_newer_api_versions(int32_t correlation_id) {
  const kafka::ApiRow& row = kafka::api_row(kafka::ApiKey::api_versions);
  kafka::ApiVersionsResponse response;
  response.error_code = ErrorCode::unsupported_version;
  response.api_keys = {
      {.api_key = std::to_underlying(row.key), .min_version = row.min_version, .max_version = row.max_version}};
  return assemble_response(kafka::encode_response_frame(response, 0, correlation_id), {});
}

std::string describe_client(const RequestContext& context) {
  return fmt::format("{} ({})", context.caller.address.to_string(), context.client_id.value_or("no client id"));
}

}  // namespace

RequestDispatcher::RequestDispatcher(const BrokerServices& services, RequestMetrics& metrics,
                                     ConnectionSettings settings)
    : services_(services), metrics_(metrics), settings_(settings), slow_requests_(services.config.slow_request) {}

void RequestDispatcher::tell_of_no_answer(const RequestContext& context, const Response& response) {
  const auto skipped = no_answer_lines_.line_allowed(services_.clock.now());
  if (!skipped) return;
  log_error("broker", "{} v{} from {}: {}; the connection is closed. This is a bug in Naru: please report it ({} more)",
            context.api.name, context.version, describe_client(context), response.close_reason.value_or(""), *skipped);
}

Task<void> RequestDispatcher::handle(Request request) {
  kafka::WireReader reader(request.frame.view());
  const auto header = kafka::decode_request_header(reader);
  if (!header) {
    request.connection->ignore_further_input();
    request.connection->respond(request.slot, close_connection(header.error().to_string()));
    co_return;
  }
  const Origin origin{.connection = request.connection,
                      .caller = *request.caller,
                      .frame = request.frame,
                      .received = request.received};
  Answer answered = co_await answer(origin, *header, reader);
  if (answered.throttle > Milliseconds(0)) request.connection->mute_until(services_.clock.now() + answered.throttle);
  request.connection->respond(request.slot, std::move(answered.response));
}

Task<ForwardedRequests::Answer> RequestDispatcher::answer_forwarded(const RequestContext& envelope, CallerPtr caller,
                                                                    SharedBytes frame) {
  kafka::WireReader reader(frame.view());
  const auto header = kafka::decode_request_header(reader);
  if (!header) co_return Answer{.response = close_connection(header.error().to_string())};
  if (!header->version_supported() || !find_handler(*header->api).only_by_controller) {
    co_return Answer{.response = close_connection(fmt::format("{} is not passed on", header->api->name))};
  }
  const Origin origin{.connection = envelope.connection,
                      .caller = *caller,
                      .frame = frame,
                      .received = envelope.received,
                      .was_forwarded = true};
  co_return co_await answer(origin, *header, reader);
}

Task<ForwardedRequests::Answer> RequestDispatcher::answer(Origin origin, const kafka::DecodedRequestHeader& header,
                                                          kafka::WireReader& body) {
  if (!header.version_supported()) {
    co_return Answer{.response = refuse_newer_api_versions(header.header.correlation_id)};
  }
  if (auto refused = refuse_stranger(services_, origin.caller, *header.api)) {
    co_return Answer{.response = std::move(*refused)};
  }
  RequestTimes times(origin.received);
  times.mark(RequestStage::queued, services_.clock.now());
  const HandlerRow& row = find_handler(*header.api);
  DecodedMemory memory(services_.memory, row.memory_multiple);
  if (!is_planted(RequestCanary::unpaid_arrays)) body.pay_for_arrays_from(memory);
  Quota quota(services_.quotas, origin.caller,
              {.kind = row.quota, .client_id = header.header.client_id.value_or(""), .bytes = origin.frame.size()});
  RequestContext context{.api = *header.api,
                         .version = header.version(),
                         .correlation_id = header.header.correlation_id,
                         .client_id = header.header.client_id,
                         .caller = origin.caller,
                         .connection = origin.connection,
                         .frame = origin.frame,
                         .received = origin.received,
                         .times = times,
                         .memory = memory,
                         .quota = quota,
                         .forwarded = *this,
                         .was_forwarded = origin.was_forwarded,
                         .given_up = {}};
  Answer answered;
  bool is_answered = false;
  if (should_be_passed_on(row, context, body, settings_.max_frame_bytes)) {
    auto forwarded = co_await services_.controller_link.forward(context);
    if (!forwarded) {
      context.given_up = std::move(forwarded).error();
    } else if (*forwarded) {
      answered = std::move(**forwarded);
      is_answered = true;
    }
  }
  if (!is_answered) {
    answered.response = co_await row.handler(services_, context, body);
    answered.throttle = quota.charge();
  }
  Response& response = answered.response;

  if (response.close_as == ConnectionEnd::no_answer) tell_of_no_answer(context, response);
  const MonotonicTime now = services_.clock.now();
  // A handler that does not say where its work ends has waited for nobody.
  const bool said_when_handled = times.charged(RequestStage::handled) > Duration::zero();
  times.mark(said_when_handled ? RequestStage::committed : RequestStage::handled, now);
  metrics_.record(*header.api, times, origin.frame.size(), size_of(response.chunks));
  response.send_time = {.histogram = &metrics_.send_seconds(*header.api), .finished = now};
  if (slow_requests_.is_slow(times)) slow_requests_.observe(context.api.name, describe_client(context), times, now);
  co_return answered;
}

}  // namespace naru
