#include "broker/missing_topics.h"

#include <map>
#include <utility>

#include "broker/controller_link.h"
#include "broker/handlers/undo_topics.h"
#include "cluster_control/controller_shell.h"
#include "cluster_control/internal_topics.h"
#include "foundation/log.h"

namespace naru {
namespace {

NewTopic internal_topic(std::string_view name, int32_t partitions, std::optional<int32_t> replication_factor,
                        int32_t segment_bytes) {
  return {.name = std::string(name),
          .partition_count = partitions,
          .replication_factor = static_cast<int16_t>(replication_factor.value_or(-1)),
          .configs = {{"cleanup.policy", "compact"},
                      {"segment.bytes", std::to_string(segment_bytes)},
                      {"compression.type", "producer"}},
          .internal = true};
}

NewTopic internal_topic(std::string_view name, const BrokerConfig& config) {
  if (name == kTransactionsTopic) {
    const TransactionsConfig& of = config.transactions;
    NewTopic topic = internal_topic(name, of.topic_partitions, of.topic_replication_factor, of.topic_segment_bytes);
    if (of.topic_min_insync_replicas) {
      topic.configs.push_back({"min.insync.replicas", std::to_string(*of.topic_min_insync_replicas)});
    }
    return topic;
  }
  const GroupsConfig& of = config.groups;
  return internal_topic(name, of.offsets_topic_partitions, of.offsets_topic_replication_factor,
                        of.offsets_topic_segment_bytes);
}

Task<Status> make_internal_topic(const BrokerServices& services, std::string_view name) {
  CreateTopicsRequest request;
  request.topics.push_back(internal_topic(name, services.config));
  const auto results = co_await services.controller.create_topics(std::move(request));
  const Status& status = results.front().status;
  if (status.ok() || status == ErrorCode::topic_already_exists) co_return Status();
  log_warn("broker", "{} cannot be made, so there are no {}: {}", name,
           name == kTransactionsTopic ? "transactions" : "groups", status.to_string());
  co_return status;
}

}  // namespace

Task<std::vector<Status>> make_missing_topics_here(const BrokerServices& services, std::vector<std::string> names) {
  std::map<std::string, Status, std::less<>> made;
  std::vector<std::string> of_clients;
  for (const std::string& name : names) {
    if (is_internal_topic(name)) {
      made[name] = co_await make_internal_topic(services, name);
    } else {
      of_clients.push_back(name);
    }
  }
  if (!of_clients.empty()) {
    auto results = co_await services.controller.auto_create_topics(std::move(of_clients));
    co_await undo_unusable_topics(services, results);
    for (CreateTopicResult& result : results) made[result.name] = std::move(result.status);
  }
  std::vector<Status> statuses;
  for (const std::string& name : names) statuses.push_back(made[name]);
  co_return statuses;
}

Task<std::vector<Status>> make_missing_topics(const BrokerServices& services, std::vector<std::string> names) {
  if (services.controller_link.is_here()) return make_missing_topics_here(services, std::move(names));
  return services.controller_link.make_topics(std::move(names));
}

}  // namespace naru
