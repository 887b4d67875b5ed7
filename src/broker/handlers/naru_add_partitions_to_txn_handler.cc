// NaruAddPartitionsToTxn: leaders on other brokers ask whether what they are to append belongs to a transaction.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/from_broker.h"
#include "broker/transaction_coordinators.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/naru_add_partitions_to_txn_request.h"
#include "kafka_protocol/messages/naru_add_partitions_to_txn_response.h"

namespace naru {
namespace {

using ToJoin = kafka::NaruAddPartitionsToTxnRequest::TransactionToJoin;

AddPartitions to_ask(const ToJoin& wanted) {
  AddPartitions add{.transactional_id = std::string(wanted.transactional_id),
                    .producer = {wanted.producer_id, wanted.producer_epoch},
                    .partitions = {},
                    .mode = wanted.verify_only ? AddPartitions::Mode::verify_only : AddPartitions::Mode::implicit,
                    .may_wait = false};  // others stand behind it on this connection
  for (const auto& topic : wanted.topics) {
    for (const PartitionIndex index : topic.partitions) add.partitions.push_back({std::string(topic.name), index});
  }
  return add;
}

}  // namespace

Task<Response> handle_naru_add_partitions_to_txn(const BrokerServices& services, const RequestContext& context,
                                                 kafka::WireReader& reader) {
  kafka::NaruAddPartitionsToTxnRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::NaruAddPartitionsToTxnResponse response;
  response.error_code = check_sender(services, request.broker_id, request.broker_epoch);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  Turns turns(services, context);
  for (const ToJoin& wanted : request.transactions) {
    size_t partitions = 0;
    for (const auto& topic : wanted.topics) partitions += 1 + topic.partitions.size();
    co_await turns.to_worker_for(partitions);
    co_await turns.step();
    AddPartitions add = to_ask(wanted);
    const size_t count = add.partitions.size();
    const auto answer = co_await services.transactions.join(std::move(add));
    auto& joined = response.transactions.emplace_back();
    if (answer) {
      joined.transaction_number = answer->number.value();
      joined.coordinator_epoch = answer->coordinator_epoch;
      joined.error_codes = answer->partitions;
    } else {
      joined.error_codes.assign(count, answer.error().code());
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
