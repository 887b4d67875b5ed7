#include "client/consumer.h"

#include <algorithm>
#include <chrono>

#include "client/broker_error.h"
#include "foundation/assert.h"
#include "kafka_protocol/messages/fetch_request.h"

namespace naru::client {
namespace {

// From version 13 on topics have ids instead of names; the names are what we know for sure.
constexpr VersionRange kConsumerFetchVersions{.min = 4, .max = 12};

int32_t to_ms(Duration duration) {
  return static_cast<int32_t>(std::chrono::duration_cast<Milliseconds>(duration).count());
}

}  // namespace

Consumer::~Consumer() {
  NARU_ASSERT(closed_, "a consumer is destroyed that was not closed");
}

Task<Result<std::vector<FetchedPartition>>> Consumer::poll(CancelToken token) {
  while (true) {
    if (token.cancelled()) co_return failure(ErrorCode::cancelled, "cancelled");
    if (!answers_.empty()) {
      auto [leader, answer] = std::move(answers_.front());
      answers_.pop_front();
      asked_.erase(leader);
      co_return std::move(answer);
    }
    NARU_CO_TRY(co_await prepare_metadata());
    start_fetches();
    if (!answers_.empty()) continue;
    OneShot<> news;
    waiting_ = &news;
    // Through the loop: the one that cancels must not go on in here.
    const CancelCallback on_cancel(token, [this] { client_.seams().scheduler.post([this] { wake(); }); });
    co_await news;
  }
}

void Consumer::wake() {
  if (OneShot<>* waiting = std::exchange(waiting_, nullptr)) waiting->set();
}

Task<void> Consumer::close() {
  closed_ = true;
  co_await tasks_.join();
  co_await to_loop(client_.seams().scheduler);  // behind whatever was posted for poll()
}

Task<Status> Consumer::prepare_metadata() {
  if (std::exchange(pause_first_, false)) co_await client_.back_off();
  if (!metadata_is_old_) co_return Status();
  std::set<std::string> topics;
  for (const auto& [partition, position] : positions_) topics.insert(partition.topic);
  const Status refreshed = co_await client_.refresh({topics.begin(), topics.end()});
  metadata_is_old_ = !refreshed.ok();
  pause_first_ = !refreshed.ok();
  co_return refreshed;
}

void Consumer::start_fetches() {
  std::map<BrokerId, std::vector<Wanted>> by_leader;
  std::vector<FetchedPartition> without_leader;
  for (const auto& [partition, position] : positions_) {
    const PartitionInfo* known = client_.metadata().find_partition(partition);
    if (known != nullptr && !known->is_offline()) {
      by_leader[known->leader].push_back({partition, position, known->leader_epoch});
      continue;
    }
    const TopicInfo* topic = client_.metadata().find_topic(partition.topic);
    ErrorCode code = known == nullptr ? ErrorCode::unknown_topic_or_partition : ErrorCode::leader_not_available;
    if (topic != nullptr && topic->error != ErrorCode::none) code = topic->error;
    without_leader.push_back({.partition = partition,
                              .position = position,
                              .status = broker_error(code, partition.to_string()),
                              .records = {}});
  }
  if (!without_leader.empty() && asked_.insert(kNoBroker).second) {
    note_errors(without_leader);
    answers_.emplace_back(kNoBroker, std::move(without_leader));
  }
  for (auto& [leader, wanted] : by_leader) {
    if (asked_.insert(leader).second) tasks_.spawn(fetch(leader, std::move(wanted)));
  }
}

Task<void> Consumer::fetch(BrokerId leader, std::vector<Wanted> wanted) {
  auto answer = co_await ask(leader, wanted);
  note_errors(answer);
  answers_.emplace_back(leader, std::move(answer));
  wake();
}

void Consumer::note_errors(const std::vector<FetchedPartition>& answer) {
  for (const FetchedPartition& fetched : answer) {
    if (fetched.status.ok()) continue;
    pause_first_ = true;
    metadata_is_old_ = metadata_is_old_ || needs_new_metadata(fetched.status.code());
  }
}

Task<std::vector<FetchedPartition>> Consumer::ask(BrokerId leader, const std::vector<Wanted>& wanted) {
  std::vector<FetchedPartition> answer;
  for (const Wanted& one : wanted) {
    answer.push_back({.partition = one.partition,
                      .position = one.position,
                      .status = error(ErrorCode::network_exception, "{}: the broker's answer leaves it out",
                                      one.partition.to_string()),
                      .records = {}});
  }
  const auto fail_all = [&answer](const Status& status) {
    for (FetchedPartition& fetched : answer) fetched.status = status;
  };

  const auto connection = co_await client_.broker(leader, ConnectionUse::fetches);
  if (!connection) {
    fail_all(connection.error());
    co_return answer;
  }
  kafka::FetchRequest request;
  request.max_wait_ms = to_ms(options_.max_wait);
  request.min_bytes = 1;
  request.max_bytes = options_.max_bytes;
  request.isolation_level = static_cast<int8_t>(options_.isolation);
  for (const Wanted& one : wanted) {
    if (request.topics.empty() || request.topics.back().topic != one.partition.topic) {
      request.topics.emplace_back().topic = one.partition.topic;
    }
    auto& partition = request.topics.back().partitions.emplace_back();
    partition.partition = one.partition.partition;
    partition.current_leader_epoch = one.leader_epoch;
    partition.fetch_offset = one.position;
    partition.partition_max_bytes = options_.partition_max_bytes;
  }
  const Duration timeout = client_.options().request_timeout + options_.max_wait;
  auto response = co_await (*connection)->call<kafka::FetchResponse>(request, timeout, kConsumerFetchVersions);
  if (!response) {
    fail_all(response.error());
    co_return answer;
  }
  if (response->error_code != ErrorCode::none) {
    fail_all(broker_error(response->error_code, "fetch"));
    co_return answer;
  }
  for (auto& topic : response->responses) {
    for (auto& partition : topic.partitions) {
      const TopicPartition name{topic.topic, partition.partition_index};
      const auto asked_for = std::ranges::find(answer, name, &FetchedPartition::partition);
      if (asked_for == answer.end()) continue;
      asked_for->status = broker_error(partition.error_code, name.to_string());
      asked_for->log_start = partition.log_start_offset;
      asked_for->high_watermark = partition.high_watermark;
      asked_for->records = std::move(partition.records);
      if (partition.aborted_transactions) asked_for->aborted = std::move(*partition.aborted_transactions);
    }
  }
  co_return answer;
}

}  // namespace naru::client
