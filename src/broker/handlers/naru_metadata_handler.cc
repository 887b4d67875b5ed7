// NaruMetadata: a broker asks the controller for changes of the metadata. Waits until there are some.
#include <algorithm>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "cluster_control/metadata_feed.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/naru_metadata_request.h"
#include "kafka_protocol/messages/naru_metadata_response.h"
#include "replication/cluster_contact.h"

namespace naru {
namespace {

constexpr int32_t kLongestWaitMs = 60'000;

}  // namespace

Task<Response> handle_naru_metadata(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::NaruMetadataRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::NaruMetadataResponse response;
  const Uuid cluster_id = services.metadata.current()->cluster().cluster_id;
  if (!request.cluster_id.is_zero() && request.cluster_id != cluster_id) {
    response.error_code = ErrorCode::inconsistent_cluster_id;
    co_return encode_reply(context, response);
  }
  // Somebody who asks a controller that was left behind is left behind himself.
  if (services.controller.has_contact()) services.contact.heard(services.clock.now());
  const auto deadline = services.clock.now() + Milliseconds(std::clamp(request.max_wait_ms, 0, kLongestWaitMs));
  const auto answer = co_await services.controller.feed().poll({request.controller_epoch, request.number}, deadline,
                                                               context.connection->gone());
  context.times.skip_wait(services.clock.now());
  if (!answer) {
    response.error_code = answer.error().code();
    co_return encode_reply(context, response);
  }
  response.controller_epoch = answer->position.controller_epoch;
  response.number = answer->position.number;
  response.has_contact = services.controller.has_contact();
  response.full = answer->full;
  Turns turns(services, context);
  for (const MetadataKeyChange& change : answer->changes) {
    co_await turns.step();
    auto& told = response.changes.emplace_back();
    told.key = change.key;
    told.version = change.version;
    if (change.value) {
      told.value = Bytes(change.value->view().begin(), change.value->view().end());
    } else {
      told.value.reset();
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
