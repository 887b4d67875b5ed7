// WriteTxnMarkers: transactions end in the partitions that are led here.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/marker_writer.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/write_txn_markers_request.h"
#include "kafka_protocol/messages/write_txn_markers_response.h"

namespace naru {
namespace {

using WritableMarker = kafka::WriteTxnMarkersRequest::WritableTxnMarker;

Task<void> add_markers(const WritableMarker& marker, std::vector<MarkerToWrite>& markers, Turns& turns) {
  for (const auto& topic : marker.topics) {
    co_await turns.step();
    for (size_t i = 0; i < topic.partition_indexes.size(); ++i) {
      co_await turns.step();
      const auto result = marker.transaction_result ? TransactionResult::commit : TransactionResult::abort;
      markers.push_back(
          {.topic = std::string(topic.name),
           .partition = topic.partition_indexes[i],
           .request = {.producer = {marker.producer_id, marker.producer_epoch},
                       .marker = {.result = result, .coordinator_epoch = marker.coordinator_epoch},
                       .transaction_version = marker.transaction_version,
                       .number = TransactionNumber(marker.transaction_number),
                       .leader_epoch = i < topic.leader_epochs.size() ? topic.leader_epochs[i] : kNoLeaderEpoch}});
    }
  }
}

// In the order of the request, which a coordinator relies on.
kafka::WriteTxnMarkersResponse answer_markers(const kafka::WriteTxnMarkersRequest& request,
                                              const std::vector<Status>& written) {
  kafka::WriteTxnMarkersResponse response;
  size_t next = 0;
  for (const WritableMarker& marker : request.markers) {
    auto& answered = response.markers.emplace_back();
    answered.producer_id = marker.producer_id;
    for (const auto& topic : marker.topics) {
      auto& answered_topic = answered.topics.emplace_back();
      answered_topic.name = topic.name;
      for (const PartitionIndex index : topic.partition_indexes) {
        answered_topic.partitions.push_back({.partition_index = index, .error_code = written[next++].code()});
      }
    }
  }
  return response;
}

}  // namespace

Task<Response> handle_write_txn_markers(const BrokerServices& services, const RequestContext& context,
                                        kafka::WireReader& reader) {
  kafka::WriteTxnMarkersRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  std::vector<MarkerToWrite> markers;
  Turns turns(services, context, Turns::Order::kept);
  for (const WritableMarker& marker : request.markers) {
    co_await turns.step();
    co_await add_markers(marker, markers, turns);
  }
  const bool allowed =
      services.authorizer.authorize(context.caller, Operation::cluster_action, ResourceType::cluster,
                                    kClusterResource) ||
      services.authorizer.authorize(context.caller, Operation::alter, ResourceType::cluster, kClusterResource);
  if (!allowed) {
    const std::vector<Status> refused(markers.size(), Status(ErrorCode::cluster_authorization_failed));
    co_return encode_reply(context, answer_markers(request, refused));
  }
  context.times.mark(RequestStage::handled, services.clock.now());
  const std::vector<Status> written =
      co_await services.marker_writer.write(std::move(markers), context.connection->cut_off(), &turns);
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, answer_markers(request, written));
}

}  // namespace naru
