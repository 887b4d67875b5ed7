#include "broker/controller_link.h"

#include <algorithm>
#include <map>

#include "broker/reply.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/allocate_producer_ids_request.h"
#include "kafka_protocol/messages/allocate_producer_ids_response.h"
#include "kafka_protocol/messages/alter_partition_request.h"
#include "kafka_protocol/messages/alter_partition_response.h"
#include "kafka_protocol/messages/naru_broker_stopping_request.h"
#include "kafka_protocol/messages/naru_broker_stopping_response.h"
#include "kafka_protocol/messages/naru_missing_topics_request.h"
#include "kafka_protocol/messages/naru_missing_topics_response.h"
#include "kafka_protocol/messages/naru_offline_logs_request.h"
#include "kafka_protocol/messages/naru_offline_logs_response.h"
#include "kafka_protocol/messages/naru_topics_removed_request.h"
#include "kafka_protocol/messages/naru_topics_removed_response.h"

namespace naru {
namespace {

constexpr Duration kCallTimeout = 10s;

kafka::AlterPartitionRequest alter_request(const std::vector<IsrChange>& changes) {
  kafka::AlterPartitionRequest request;
  std::map<Uuid, size_t> topics;
  for (const IsrChange& change : changes) {
    const auto [at, is_new] = topics.try_emplace(change.topic_id, request.topics.size());
    if (is_new) request.topics.push_back({.topic_id = change.topic_id});
    auto& partition = request.topics[at->second].partitions.emplace_back();
    partition.partition_index = change.index;
    partition.leader_epoch = change.leader_epoch;
    partition.partition_epoch = change.partition_epoch;
    for (const IsrMember& member : change.isr) {
      partition.new_isr_with_epochs.push_back({.broker_id = member.id, .broker_epoch = member.broker_epoch});
    }
  }
  return request;
}

std::vector<AlterPartitionResult> alter_results(const std::vector<IsrChange>& changes,
                                                const kafka::AlterPartitionResponse& response) {
  std::map<std::pair<Uuid, PartitionIndex>, AlterPartitionResult> answered;
  for (const auto& topic : response.topics) {
    for (const auto& partition : topic.partitions) {
      AlterPartitionResult& result = answered[{topic.topic_id, partition.partition_index}];
      result.status = Status(partition.error_code);
      result.now.leader = partition.leader_id;
      result.now.leader_epoch = partition.leader_epoch;
      result.now.partition_epoch = partition.partition_epoch;
      result.now.isr = partition.isr;
    }
  }
  std::vector<AlterPartitionResult> results;
  for (const IsrChange& change : changes) {
    const auto found = answered.find({change.topic_id, change.index});
    results.push_back(found != answered.end()
                          ? found->second
                          : AlterPartitionResult{.status = Status(ErrorCode::unavailable, "the answer leaves it out")});
  }
  return results;
}

}  // namespace

bool ControllerLink::is_here() const {
  return controller_.is_in_office();
}

std::optional<Peer> ControllerLink::elsewhere() const {
  const ControllerView view = controller_.controller();
  if (view.here || view.id == self_ || view.listeners.empty()) return std::nullopt;
  return Peer{view.id, address_for_brokers(view.listeners)};
}

int64_t ControllerLink::broker_epoch() const {
  return controller_.broker_epoch();
}

template <class Answer, class Request>
Task<Result<Answer>> ControllerLink::call(Request request) {
  const auto peer = elsewhere();
  if (!peer) co_return failure(ErrorCode::not_controller, "no controller is known");
  request.broker_id = self_;
  request.broker_epoch = broker_epoch();
  co_return co_await peers_.call<Answer>(*peer, PeerUse::requests, std::move(request), kCallTimeout);
}

Task<Result<std::optional<ForwardedRequests::Answer>>> ControllerLink::forward(const RequestContext& context) {
  if (is_here()) co_return std::nullopt;
  const auto peer = elsewhere();
  if (!peer) co_return std::nullopt;
  auto answer = co_await peers_.forward(*peer, context.frame, context.caller, context.api.name, kCallTimeout);
  if (answer) co_return std::move(*answer);
  if (answer.error() == ErrorCode::broker_not_available) co_return std::nullopt;
  co_return failure(ErrorCode::request_timed_out,
                    "the controller, broker {}, has not answered: it may have been done; look before you try again",
                    peer->id);
}

Task<std::vector<Status>> ControllerLink::make_topics(std::vector<std::string> names) {
  std::vector<Status> made;
  kafka::NaruMissingTopicsRequest request;
  request.names.assign(names.begin(), names.end());
  const auto response = co_await call<kafka::NaruMissingTopicsResponse>(std::move(request));
  for (const std::string& name : names) {
    if (!response) {
      made.push_back(response.error());
      continue;
    }
    const auto found =
        std::ranges::find(response->topics, name, &kafka::NaruMissingTopicsResponse::MissingTopicResult::name);
    made.push_back(found == response->topics.end()
                       ? Status(ErrorCode::unavailable)
                       : Status(found->error_code, std::string(found->error_message.value_or(""))));
  }
  co_return made;
}

Task<Result<ProducerIdBlock>> ControllerLink::allocate_producer_ids() {
  if (is_here()) co_return co_await controller_.allocate_producer_ids();
  const auto response = co_await call<kafka::AllocateProducerIdsResponse>(kafka::AllocateProducerIdsRequest());
  if (!response) co_return failure(response.error());
  if (response->error_code != ErrorCode::none) co_return failure(Status(response->error_code));
  co_return ProducerIdBlock{.first = response->producer_id_start,
                            .end = response->producer_id_start + response->producer_id_len};
}

Task<Status> ControllerLink::confirm_deletions(std::vector<Uuid> topic_ids) {
  if (is_here()) {
    Status status;
    for (const auto& result : co_await controller_.confirm_deletions(self_, std::move(topic_ids))) {
      if (status.ok()) status = result.status;
    }
    co_return status;
  }
  kafka::NaruTopicsRemovedRequest request;
  request.topic_ids = std::move(topic_ids);
  const auto response = co_await call<kafka::NaruTopicsRemovedResponse>(std::move(request));
  co_return response ? Status(response->error_code) : response.error();
}

Task<Result<std::vector<AlterPartitionResult>>> ControllerLink::alter_partitions(std::vector<IsrChange> changes) {
  if (is_here()) co_return co_await controller_.alter_partitions(self_, broker_epoch(), std::move(changes));
  const auto response = co_await call<kafka::AlterPartitionResponse>(alter_request(changes));
  if (!response) co_return failure(response.error());
  if (response->error_code != ErrorCode::none) co_return failure(Status(response->error_code));
  co_return alter_results(changes, *response);
}

Task<Status> ControllerLink::report_offline_logs(PartitionIds partitions) {
  if (is_here()) co_return co_await controller_.report_offline_logs(self_, broker_epoch(), std::move(partitions));
  kafka::NaruOfflineLogsRequest request;
  for (const auto& [topic_id, index] : partitions) {
    if (request.topics.empty() || request.topics.back().topic_id != topic_id) {
      request.topics.push_back({.topic_id = topic_id});
    }
    request.topics.back().partitions.push_back(index);
  }
  const auto response = co_await call<kafka::NaruOfflineLogsResponse>(std::move(request));
  co_return response ? Status(response->error_code) : response.error();
}

Task<Result<int32_t>> ControllerLink::announce_stop() {
  if (is_here()) {
    const auto still_led = co_await controller_.controlled_shutdown(self_, broker_epoch());
    if (!still_led) co_return failure(still_led.error());
    co_return static_cast<int32_t>(still_led->size());
  }
  const auto response = co_await call<kafka::NaruBrokerStoppingResponse>(kafka::NaruBrokerStoppingRequest());
  if (!response) co_return failure(response.error());
  if (response->error_code != ErrorCode::none) co_return failure(Status(response->error_code));
  co_return response->still_led;
}

}  // namespace naru
