#include "broker/transaction_link.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/naru_add_partitions_to_txn_request.h"
#include "kafka_protocol/messages/naru_add_partitions_to_txn_response.h"

namespace naru {
namespace {

constexpr Duration kJoinTimeout = 10s;
// A coordinator elsewhere does not keep others waiting behind one whose transaction before is being ended.
constexpr Duration kPatience = 1s;
// Between one question and the next: twice as long each time.
constexpr Duration kFirstJoinPause = 5ms;
constexpr Duration kLongestJoinPause = 100ms;

bool is_being_ended(const Result<AddPartitionsAnswer>& answer) {
  return answer &&
         std::ranges::find(answer->partitions, ErrorCode::concurrent_transactions) != answer->partitions.end();
}

}  // namespace

Task<Result<AddPartitionsAnswer>> TransactionLink::join(AddPartitions request) {
  const MonotonicTime deadline = parts_.seams.clock.now() + kPatience;
  Duration pause = kFirstJoinPause;
  for (;;) {
    auto answer = co_await ask(request);
    const MonotonicTime now = parts_.seams.clock.now();
    if (!is_being_ended(answer) || now >= deadline) co_return answer;
    const Status slept =
        co_await sleep_until(parts_.seams.scheduler, std::min(now + pause, deadline), stopping_.token());
    if (!slept.ok()) co_return answer;
    pause = std::min(2 * pause, kLongestJoinPause);
  }
}

Task<void> TransactionLink::stop() {
  stopping_.cancel();
  return parts_.peers.close(PeerUse::transactions);
}

Task<Result<AddPartitionsAnswer>> TransactionLink::ask(AddPartitions request) {
  const BrokerId coordinator = parts_.here.coordinator_of(request.transactional_id);
  if (coordinator == kNoBroker) co_return failure(Status(ErrorCode::coordinator_not_available));
  if (coordinator != parts_.self) co_return co_await ask_elsewhere(coordinator, request);
  co_return co_await parts_.here.join(std::move(request));
}

Task<Result<AddPartitionsAnswer>> TransactionLink::ask_elsewhere(BrokerId coordinator, const AddPartitions& request) {
  const MetadataImagePtr image = parts_.metadata.current();
  const BrokerMetadata* broker = image->find_broker(coordinator);
  if (broker == nullptr || broker->listeners.empty()) co_return failure(Status(ErrorCode::coordinator_not_available));
  const Peer peer{coordinator, address_for_brokers(broker->listeners)};
  kafka::NaruAddPartitionsToTxnRequest asked;
  asked.broker_id = parts_.self;
  asked.broker_epoch = parts_.broker_epoch();
  auto& transaction = asked.transactions.emplace_back();
  transaction.transactional_id = request.transactional_id;
  transaction.producer_id = request.producer.id;
  transaction.producer_epoch = request.producer.epoch;
  transaction.verify_only = request.mode == AddPartitions::Mode::verify_only;
  for (const TopicPartitionName& partition : request.partitions) {
    if (transaction.topics.empty() || transaction.topics.back().name != partition.topic) {
      transaction.topics.emplace_back().name = partition.topic;
    }
    transaction.topics.back().partitions.push_back(partition.partition);
  }
  const auto response = co_await parts_.peers.call<kafka::NaruAddPartitionsToTxnResponse>(
      peer, PeerUse::transactions, std::move(asked), kJoinTimeout);
  if (!response) co_return failure(response.error());
  if (response->error_code != ErrorCode::none) co_return failure(Status(response->error_code));
  if (response->transactions.size() != 1 ||
      response->transactions.front().error_codes.size() != request.partitions.size()) {
    co_return failure(ErrorCode::network_exception, "broker {} has answered for other partitions", coordinator);
  }
  const auto& joined = response->transactions.front();
  co_return AddPartitionsAnswer{.partitions = joined.error_codes,
                                .number = TransactionNumber(joined.transaction_number),
                                .coordinator_epoch = joined.coordinator_epoch};
}

}  // namespace naru
