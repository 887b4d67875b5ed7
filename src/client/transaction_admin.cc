#include "client/transaction_admin.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "client/broker_error.h"
#include "client/coordinator.h"
#include "kafka_protocol/messages/describe_transactions_request.h"
#include "kafka_protocol/messages/describe_transactions_response.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/list_transactions_request.h"
#include "kafka_protocol/messages/list_transactions_response.h"

namespace naru::client {
namespace {

using DescribedTransaction = kafka::DescribeTransactionsResponse::TransactionState;

// Of one request, so that its answer stays far below what a client accepts.
constexpr size_t kTransactionsAtOnce = 500;

Status transaction_error(ErrorCode code, std::string_view id) {
  return broker_error(code, fmt::format("transactional id {}", id));
}

Task<Result<std::vector<ListedTransaction>>> list_transactions_at(ClusterClient& client, BrokerId broker,
                                                                  const TransactionFilter& filter) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(broker));
  kafka::ListTransactionsRequest request;
  request.state_filters.assign(filter.states.begin(), filter.states.end());
  request.producer_id_filters = filter.producer_ids;
  NARU_CO_TRY_ASSIGN(auto response, co_await connection->call<kafka::ListTransactionsResponse>(
                                        request, client.options().request_timeout));
  NARU_CO_TRY(broker_error(response.error_code, fmt::format("transactions of broker {}", broker)));
  if (!response.unknown_state_filters.empty()) {
    co_return failure(ErrorCode::invalid_argument,
                      "transactions have no state '{}'; there are Empty, Ongoing, PrepareCommit, PrepareAbort, "
                      "CompleteCommit and CompleteAbort",
                      fmt::join(response.unknown_state_filters, "' or '"));
  }
  std::vector<ListedTransaction> transactions;
  for (auto& transaction : response.transaction_states) {
    transactions.push_back({.id = std::move(transaction.transactional_id),
                            .state = std::move(transaction.transaction_state),
                            .producer_id = transaction.producer_id,
                            .coordinator = broker});
  }
  co_return transactions;
}

Task<Result<kafka::DescribeTransactionsResponse>> ask_for_transactions(ClusterClient& client,
                                                                       const Connection& connection,
                                                                       std::span<const std::string> ids) {
  kafka::DescribeTransactionsRequest request;
  request.transactional_ids.assign(ids.begin(), ids.end());
  request.naru_include_times = true;
  return connection->call<kafka::DescribeTransactionsResponse>(request, client.options().request_timeout);
}

TransactionDescription to_transaction(DescribedTransaction described, BrokerId coordinator) {
  TransactionDescription transaction{.id = std::move(described.transactional_id),
                                     .state = std::move(described.transaction_state),
                                     .producer = {described.producer_id, described.producer_epoch},
                                     .timeout = Milliseconds(std::max(0, described.transaction_timeout_ms)),
                                     .start = described.transaction_start_time_ms,
                                     .last_update = described.naru_last_update_ms,
                                     .coordinator = coordinator};
  for (const auto& topic : described.topics) {
    for (const PartitionIndex partition : topic.partitions) transaction.partitions.push_back({topic.topic, partition});
  }
  std::ranges::sort(transaction.partitions);
  return transaction;
}

Task<Result<TransactionDescription>> describe_transaction_at(ClusterClient& client, Coordinator coordinator,
                                                             const std::string& id) {
  NARU_CO_TRY_ASSIGN(auto response, co_await ask_for_transactions(client, coordinator.connection, {&id, 1}));
  for (DescribedTransaction& transaction : response.transaction_states) {
    if (transaction.transactional_id != id) continue;
    NARU_CO_TRY(transaction_error(transaction.error_code, id));
    co_return to_transaction(std::move(transaction), coordinator.id);
  }
  co_return failure(ErrorCode::network_exception, "transactional id {}: the broker's answer leaves it out", id);
}

Task<Result<ProducerIdentity>> fence_producer_at(ClusterClient& client, Coordinator coordinator, const std::string& id,
                                                 Duration transaction_timeout) {
  kafka::InitProducerIdRequest request;
  request.transactional_id = id;
  request.transaction_timeout_ms =
      static_cast<int32_t>(std::chrono::duration_cast<Milliseconds>(transaction_timeout).count());
  NARU_CO_TRY_ASSIGN(const auto response, co_await coordinator.connection->call<kafka::InitProducerIdResponse>(
                                              request, client.options().request_timeout));
  NARU_CO_TRY(transaction_error(response.error_code, id));
  co_return ProducerIdentity{response.producer_id, response.producer_epoch};
}

}  // namespace

bool is_ongoing(std::string_view state) {
  return state == "Ongoing";
}

bool is_being_ended(std::string_view state) {
  return state == "PrepareCommit" || state == "PrepareAbort" || state == "PrepareEpochFence";
}

Task<Result<std::vector<ListedTransaction>>> list_transactions(ClusterClient& client, TransactionFilter filter) {
  NARU_CO_TRY(co_await client.refresh({}));
  const std::vector<BrokerInfo> brokers = client.metadata().brokers;
  const MonotonicTime deadline = client.seams().clock.now() + client.options().request_timeout;
  std::vector<ListedTransaction> all;
  for (const BrokerInfo& broker : brokers) {
    auto transactions = co_await list_transactions_at(client, broker.id, filter);
    while (!transactions && coordinator_may_answer_soon(transactions.error().code()) &&
           client.seams().clock.now() < deadline) {
      co_await client.back_off();
      transactions = co_await list_transactions_at(client, broker.id, filter);
    }
    if (!transactions) co_return failure(std::move(transactions).error());
    std::ranges::move(*transactions, std::back_inserter(all));
  }
  std::ranges::sort(all, {}, &ListedTransaction::id);
  co_return all;
}

Task<Result<TransactionDescription>> describe_transaction(ClusterClient& client, std::string id) {
  co_return co_await at_coordinator(
      client, CoordinatorKind::transaction, id, client.options().request_timeout,
      [&](Coordinator coordinator) { return describe_transaction_at(client, std::move(coordinator), id); });
}

Task<Result<std::vector<TransactionDescription>>> describe_transactions(ClusterClient& client, BrokerId coordinator,
                                                                        std::vector<std::string> ids) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(coordinator));
  std::vector<TransactionDescription> all;
  for (std::span<const std::string> rest = ids; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), kTransactionsAtOnce));
    rest = rest.subspan(some.size());
    NARU_CO_TRY_ASSIGN(auto response, co_await ask_for_transactions(client, connection, some));
    for (DescribedTransaction& transaction : response.transaction_states) {
      if (transaction.error_code == ErrorCode::none) all.push_back(to_transaction(std::move(transaction), coordinator));
    }
  }
  co_return all;
}

Task<Result<ProducerIdentity>> fence_producer(ClusterClient& client, std::string id, Duration transaction_timeout) {
  const MonotonicTime deadline = client.seams().clock.now() + client.options().request_timeout;
  while (true) {
    const Duration patience = std::max(Duration::zero(), deadline - client.seams().clock.now());
    auto fenced =
        co_await at_coordinator(client, CoordinatorKind::transaction, id, patience, [&](Coordinator coordinator) {
          return fence_producer_at(client, std::move(coordinator), id, transaction_timeout);
        });
    const bool is_ending = !fenced && fenced.error() == ErrorCode::concurrent_transactions;
    if (!is_ending || client.seams().clock.now() >= deadline) co_return fenced;
    co_await client.back_off();
  }
}

}  // namespace naru::client
