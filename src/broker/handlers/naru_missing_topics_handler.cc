// NaruMissingTopics: topics that the clients of another broker need are made with their defaults.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/from_broker.h"
#include "broker/handlers/metadata_words.h"
#include "broker/missing_topics.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/naru_missing_topics_request.h"
#include "kafka_protocol/messages/naru_missing_topics_response.h"

namespace naru {

Task<Response> handle_naru_missing_topics(const BrokerServices& services, const RequestContext& context,
                                          kafka::WireReader& reader) {
  kafka::NaruMissingTopicsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::NaruMissingTopicsResponse response;
  const ErrorCode refused = check_sender(services, request.broker_id, request.broker_epoch);
  Turns turns(services, context);
  std::vector<std::string> names;
  for (const std::string_view name : request.names) {
    co_await turns.step();
    names.emplace_back(name);
  }
  co_await turns.to_worker_if_large();
  std::vector<Status> made(names.size(), Status(refused));
  if (refused == ErrorCode::none) made = co_await make_missing_topics_here(services, names);
  co_await turns.to_worker_if_large();
  for (size_t i = 0; i < names.size(); ++i) {
    auto& topic = response.topics.emplace_back();
    topic.name = std::move(names[i]);
    topic.error_code = made[i].code();
    if (!made[i].ok()) topic.error_message = error_text(made[i]);
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
