#include "client/offsets.h"

#include <set>

#include "client/broker_error.h"
#include "kafka_protocol/messages/list_offsets_request.h"
#include "kafka_protocol/messages/list_offsets_response.h"

namespace naru::client {
namespace {

using Offsets = std::map<TopicPartition, OffsetAtTime>;

constexpr VersionRange kVersionsWithIsolation{.min = 2};
constexpr Duration kElectionPatience = 5s;

Task<Status> ask_leader(ClusterClient& client, BrokerId leader, const std::vector<TopicPartition>& partitions,
                        WallTimeMs time, Isolation isolation, Offsets& offsets) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(leader));
  kafka::ListOffsetsRequest request;
  request.replica_id = kNoBroker;
  request.isolation_level = static_cast<int8_t>(isolation);
  for (const TopicPartition& partition : partitions) {
    if (request.topics.empty() || request.topics.back().name != partition.topic) {
      request.topics.emplace_back().name = partition.topic;
    }
    auto& wanted = request.topics.back().partitions.emplace_back();
    wanted.partition_index = partition.partition;
    wanted.timestamp = time;
  }
  const VersionRange usable = isolation == Isolation::read_committed ? kVersionsWithIsolation : VersionRange{};
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::ListOffsetsResponse>(
                                              request, client.options().request_timeout, usable));
  for (const auto& topic : response.topics) {
    for (const auto& partition : topic.partitions) {
      const TopicPartition name{topic.name, partition.partition_index};
      NARU_CO_TRY(broker_error(partition.error_code, name.to_string()));
      offsets[name] = {partition.offset, partition.timestamp};
    }
  }
  for (const TopicPartition& partition : partitions) {
    if (!offsets.contains(partition)) {
      co_return error(ErrorCode::network_exception, "{}: the broker's answer leaves it out", partition.to_string());
    }
  }
  co_return Status();
}

Task<Status> ask_all(ClusterClient& client, const std::vector<TopicPartition>& partitions, WallTimeMs time,
                     Isolation isolation, Offsets& offsets) {
  std::map<BrokerId, std::vector<TopicPartition>> by_leader;
  for (const TopicPartition& partition : partitions) {
    const PartitionInfo* known = client.metadata().find_partition(partition);
    if (known == nullptr || known->is_offline()) {
      co_return broker_error(known == nullptr ? ErrorCode::unknown_topic_or_partition : ErrorCode::leader_not_available,
                             partition.to_string());
    }
    by_leader[known->leader].push_back(partition);
  }
  for (const auto& [leader, led] : by_leader)
    NARU_CO_TRY(co_await ask_leader(client, leader, led, time, isolation, offsets));
  co_return Status();
}

// What a moment after an election is not so any more.
bool passes_with_an_election(ErrorCode code) {
  return code == ErrorCode::offset_not_available || code == ErrorCode::leader_not_available ||
         code == ErrorCode::not_leader_or_follower || code == ErrorCode::fenced_leader_epoch ||
         code == ErrorCode::unknown_leader_epoch;
}

}  // namespace

Task<Result<Offsets>> list_offsets(ClusterClient& client, std::vector<TopicPartition> partitions, WallTimeMs time,
                                   Isolation isolation) {
  std::set<std::string> topics;
  for (const TopicPartition& partition : partitions) topics.insert(partition.topic);
  const Clock& clock = client.seams().clock;
  const MonotonicTime deadline = clock.now() + kElectionPatience;
  for (int attempt = 1;; ++attempt) {
    Offsets offsets;
    const Status asked = co_await ask_all(client, partitions, time, isolation, offsets);
    if (asked.ok()) co_return offsets;
    const bool wait = passes_with_an_election(asked.code()) && clock.now() < deadline;
    const bool once_more = attempt == 1 && needs_new_metadata(asked.code());
    if (!wait && !once_more) co_return failure(asked);
    if (!once_more) co_await client.back_off();
    NARU_CO_TRY(co_await client.refresh({topics.begin(), topics.end()}));
  }
}

}  // namespace naru::client
