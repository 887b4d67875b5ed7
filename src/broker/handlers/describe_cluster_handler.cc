// DescribeCluster: the brokers and who the controller is.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/describe_cluster_request.h"
#include "kafka_protocol/messages/describe_cluster_response.h"

namespace naru {
namespace {

constexpr int8_t kBrokers = 1;
constexpr int8_t kControllers = 2;

// The same for every listener: clients are served by brokers, and controllers have no address of their own.
Status check_endpoint_type(int8_t type) {
  if (type == kBrokers) return {};
  if (type == kControllers) {
    return Status(ErrorCode::mismatched_endpoint_type, "this is the address of a broker, not of a controller");
  }
  return error(ErrorCode::unsupported_endpoint_type, "{} is no type of endpoint", type);
}

}  // namespace

Task<Response> handle_describe_cluster(const BrokerServices& services, const RequestContext& context,
                                       kafka::WireReader& reader) {
  kafka::DescribeClusterRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::DescribeClusterResponse response;
  if (const Status status = check_endpoint_type(request.endpoint_type); !status.ok()) {
    response.error_code = status.code();
    response.error_message = status.message();
    response.endpoint_type = request.endpoint_type;
    co_return encode_reply(context, response);
  }
  const MetadataImagePtr image = services.metadata.current();
  response.cluster_id = image->cluster().cluster_id.to_string();
  response.controller_id = image->cluster().controller_id;
  for (const auto& [id, broker] : image->brokers()) {
    const auto address = address_for(context, broker);
    if (!address) continue;
    response.brokers.push_back({.broker_id = id, .host = address->host, .port = address->port, .rack = broker.rack});
  }
  if (request.include_cluster_authorized_operations) {
    response.cluster_authorized_operations =
        authorized_operations(services.authorizer, context.caller, ResourceType::cluster, kClusterResource);
  }
  if (request.naru_include_time) response.naru_time_ms = services.clock.wall_now_ms();
  co_return encode_reply(context, response);
}

}  // namespace naru
