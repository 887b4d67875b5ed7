// ListTransactions: the transactional ids that this broker coordinates, by state, producer, age and name if asked.
#include <memory>
#include <optional>
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/transaction_words.h"
#include "broker/transaction_coordinators.h"
#include "broker/turns.h"
#include "foundation/regular_expression.h"
#include "foundation/request_canary.h"
#include "foundation/sort_and_drop_doubles.h"
#include "kafka_protocol/messages/list_transactions_request.h"
#include "kafka_protocol/messages/list_transactions_response.h"

namespace naru {
namespace {

// For the shards, which look up every transaction in it.
Task<ProducerIdFilter> sorted(const BrokerServices& services, kafka::ListTransactionsRequest& request) {
  constexpr size_t kForWorker = 10'000;
  auto ids = std::make_shared<std::vector<ProducerId>>(std::move(request.producer_id_filters));
  if (is_planted(RequestCanary::producer_ids_by_walk)) co_return ids;
  if (ids->size() >= kForWorker) co_await to_worker(services.scheduler);
  sort_and_drop_doubles(*ids);
  co_return ids;
}

}  // namespace

Task<Response> handle_list_transactions(const BrokerServices& services, const RequestContext& context,
                                        kafka::WireReader& reader) {
  kafka::ListTransactionsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  kafka::ListTransactionsResponse response;
  ListTransactions filter{
      .states = {}, .producer_ids = co_await sorted(services, request), .longer_than_ms = request.duration_filter};
  // Each once, however long the request's list is.
  std::set<std::string_view> states;
  for (const std::string_view state : request.state_filters) {
    co_await turns.step();
    states.insert(state);
  }
  for (const std::string_view state : states) {
    if (is_transaction_state_name(state)) {
      filter.states.emplace_back(state);
    } else {
      response.unknown_state_filters.emplace_back(state);
    }
  }
  std::optional<RegularExpression> pattern;
  if (request.transactional_id_pattern && !request.transactional_id_pattern->empty()) {
    auto compiled = RegularExpression::compile(*request.transactional_id_pattern);
    if (!compiled) {
      response.error_code = ErrorCode::invalid_regular_expression;
      co_return encode_reply(context, response);
    }
    pattern.emplace(std::move(*compiled));
  }
  // Only states that nothing is ever in were asked for.
  if (!request.state_filters.empty() && filter.states.empty()) co_return encode_reply(context, response);
  for (const auto& shard : services.transactions.shards()) {
    const auto listed = co_await ask_shard<TransactionCoordinator, std::vector<ListedTransaction>>(
        shard,
        [filter](TransactionCoordinator& transactions, Reply<std::vector<ListedTransaction>> reply,
                 const CoordinatorTime& time,
                 CoordinatorOutcome& outcome) { transactions.list(filter, std::move(reply), time, outcome); },
        kNoLeaderEpoch, {}, {.elements = 1, .of_state = [](const StateShard& state) { return state.elements(); }});
    if (!listed) {
      response.error_code = listed.error().code();
      response.transaction_states.clear();
      break;
    }
    for (const ListedTransaction& transaction : *listed) {
      co_await turns.step();
      const std::string& id = transaction.transactional_id;
      if (pattern && !pattern->matches(id)) continue;
      if (transactional_id_access(services, context, Operation::describe, id) != ErrorCode::none) continue;
      response.transaction_states.push_back({.transactional_id = id,
                                             .producer_id = transaction.producer.id,
                                             .transaction_state = std::string(name_of(transaction.state))});
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
