// ListPartitionReassignments: nothing moves partitions between brokers, so none is on its way.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "kafka_protocol/messages/list_partition_reassignments_request.h"
#include "kafka_protocol/messages/list_partition_reassignments_response.h"

namespace naru {

Task<Response> handle_list_partition_reassignments(const BrokerServices& services, const RequestContext& context,
                                                   kafka::WireReader& reader) {
  kafka::ListPartitionReassignmentsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::ListPartitionReassignmentsResponse response;
  response.error_message.reset();
  if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::cluster, kClusterResource)) {
    response.error_code = ErrorCode::cluster_authorization_failed;
    response.error_message = error_text(Status(response.error_code, ""));
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
