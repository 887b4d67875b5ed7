// What a ReplicaFetcher does for partitions that begin anew: it asks what their leader knows of producers.
#include <algorithm>
#include <utility>

#include "broker/replica_fetcher_entry.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/naru_producers_request.h"
#include "platform/scheduler.h"

namespace naru {
namespace {

// Each may be answered with thousands of producers.
constexpr size_t kPartitionsPerRequest = 100;

}  // namespace

Task<Status> ReplicaFetcher::bring_producers() {
  std::vector<EntryPtr> lacking = std::exchange(lacking_, {});
  while (!lacking.empty()) {
    const auto rest = lacking.begin() + static_cast<ptrdiff_t>(std::min(lacking.size(), kPartitionsPerRequest));
    const Status status = co_await bring_producers(std::vector<EntryPtr>(lacking.begin(), rest));
    if (!status.ok()) co_return status;  // everything is told anew over the next connection
    lacking.erase(lacking.begin(), rest);
  }
  co_return Status();
}

Task<Status> ReplicaFetcher::bring_producers(std::vector<EntryPtr> entries) {
  kafka::NaruProducersRequest request;
  request.broker_id = parts_.self;
  request.broker_epoch = broker_epoch_;
  for (const EntryPtr& entry : entries) {
    const auto [topic_id, index] = entry->key();
    if (request.topics.empty() || request.topics.back().topic_id != topic_id) {
      request.topics.emplace_back().topic_id = topic_id;
    }
    request.topics.back().partitions.push_back(
        {.partition_index = index, .current_leader_epoch = entry->sent.leader_epoch});
  }
  std::shared_ptr<client::BrokerConnection> connection;
  {
    const std::scoped_lock lock(mutex_);
    connection = connection_;
  }
  co_await connection->to_its_loop();
  const auto answer = co_await connection->call<kafka::NaruProducersResponse>(request, kAnswerPatience);
  if (!answer && answer.error() == ErrorCode::unsupported_version) {
    log_warn("replication",
             "leader {} is of an older version and does not say what it knows of producers; partitions "
             "that begin anew may store twice what a producer resends",
             leader_.id);
    leader_tells_producers_ = false;
    for (const EntryPtr& entry : entries) make_dirty(entry);
    co_return Status();
  }
  if (!answer) co_return answer.error();
  for (const EntryPtr& entry : entries) {
    kafka::NaruProducersResponse::LedPartition told{.error_code = answer->error_code};
    for (const auto& topic : answer->topics) {
      if (topic.topic_id != entry->key().first) continue;
      const auto found = std::ranges::find(topic.partitions, entry->key().second,
                                           &kafka::NaruProducersResponse::LedPartition::partition_index);
      if (found != topic.partitions.end()) told = *found;
    }
    co_await begin_with_producers(entry, told);
  }
  co_return Status();
}

Task<void> ReplicaFetcher::begin_with_producers(EntryPtr entry,
                                                const kafka::NaruProducersResponse::LedPartition& told) {
  Status status(told.error_code);
  if (status.ok()) {
    const ProducersAtStart producers{.start = told.log_start_offset, .snapshot = told.snapshot};
    co_await to_worker(parts_.seams.scheduler);
    status = co_await entry->partition->begin_with_producers(entry->sent, producers);
  }
  entry->sent = {};
  if (!status.ok()) retry_later(*entry, status);
  make_dirty(entry);
}

}  // namespace naru
