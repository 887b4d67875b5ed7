// DescribeTransactions: what a coordinator knows of transactional ids.
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/transaction_words.h"
#include "broker/transaction_coordinators.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/describe_transactions_request.h"
#include "kafka_protocol/messages/describe_transactions_response.h"

namespace naru {
namespace {

using AnsweredTransaction = kafka::DescribeTransactionsResponse::TransactionState;

void fill(const BrokerServices& services, const RequestContext& context, const DescribedTransaction& transaction,
          AnsweredTransaction& described) {
  described.error_code = transaction.error;
  if (transaction.error != ErrorCode::none) return;
  described.transaction_state = name_of(transaction.state);
  described.transaction_timeout_ms = transaction.timeout_ms;
  described.transaction_start_time_ms = transaction.start_ms;
  described.producer_id = transaction.producer.id;
  described.producer_epoch = transaction.producer.epoch;
  for (const TopicPartitionName& partition : transaction.partitions) {
    if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, partition.topic))
      continue;
    if (described.topics.empty() || described.topics.back().topic != partition.topic) {
      described.topics.emplace_back().topic = partition.topic;
    }
    described.topics.back().partitions.push_back(partition.partition);
  }
}

}  // namespace

Task<Response> handle_describe_transactions(const BrokerServices& services, const RequestContext& context,
                                            kafka::WireReader& reader) {
  kafka::DescribeTransactionsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  kafka::DescribeTransactionsResponse response;
  std::set<std::string_view> answered;  // once each: a short request must not have an answer of gigabytes
  for (const std::string_view id : request.transactional_ids) {
    co_await turns.step();
    if (!answered.insert(id).second) continue;
    AnsweredTransaction& described = response.transaction_states.emplace_back();
    described.transactional_id = id;
    described.error_code = transactional_id_access(services, context, Operation::describe, id);
    if (described.error_code == ErrorCode::none && turns.nobody_waits()) {
      described.error_code = ErrorCode::request_timed_out;
    }
    if (described.error_code != ErrorCode::none) continue;
    const auto found = co_await services.transactions.ask<DescribedTransaction>(
        id, [id = std::string(id)](TransactionCoordinator& transactions, Reply<DescribedTransaction> reply,
                                   const CoordinatorTime& time, CoordinatorOutcome& outcome) {
          transactions.describe(id, std::move(reply), time, outcome);
        });
    if (found) {
      fill(services, context, *found, described);
      if (request.naru_include_times) described.naru_last_update_ms = found->last_update_ms;
    } else {
      described.error_code = found.error().code();
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
