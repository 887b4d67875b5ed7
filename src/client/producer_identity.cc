#include "client/producer_identity.h"

#include "client/broker_error.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"

namespace naru::client {

Task<Result<ProducerIdentity>> ask_for_identity(ClusterClient& client) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.any_broker());
  if (!connection->versions().offers(kafka::ApiKey::init_producer_id)) co_return ProducerIdentity{};
  kafka::InitProducerIdRequest request;
  request.transactional_id = std::nullopt;
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::InitProducerIdResponse>(
                                              request, client.options().request_timeout));
  NARU_CO_TRY(broker_error(response.error_code, "producer id"));
  co_return ProducerIdentity{response.producer_id, response.producer_epoch};
}

}  // namespace naru::client
