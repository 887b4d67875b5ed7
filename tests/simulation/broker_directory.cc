#include "simulation/broker_directory.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr int16_t kMetadataVersion = 9, kFindCoordinatorVersion = 4;

}  // namespace

Task<BrokerDirectory::Client> BrokerDirectory::connect(Endpoint address) {
  auto client = co_await KafkaClient::connect(seams_, std::move(address));
  co_return client ? *client : nullptr;
}

Task<BrokerDirectory::Client> BrokerDirectory::any() {
  return connect(brokers_[seams_.random.below(brokers_.size())]);
}

KnownLeader BrokerDirectory::known_leader(const PartitionName& partition) const {
  const auto found = leaders_.find(partition);
  return found == leaders_.end() ? KnownLeader() : found->second.leader;
}

void BrokerDirectory::forget(const PartitionName& partition) {
  leaders_[partition].fresh = false;
}

Task<BrokerDirectory::Client> BrokerDirectory::leader(PartitionName partition, Client present) {
  if (!leaders_[partition].fresh) co_await ask(partition);
  const Endpoint address = leaders_[partition].leader.address;
  if (present && !present->broken() && present->address() == address) co_return present;
  if (present) present->close();
  if (address.port == 0) co_return nullptr;
  Client client = co_await connect(address);
  if (!client) forget(partition);
  co_return client;
}

Task<void> BrokerDirectory::ask(PartitionName partition) {
  const Client client = co_await any();
  if (!client) co_return;
  kafka::MetadataRequest request{.allow_auto_topic_creation = false};
  request.topics.emplace();
  request.topics->push_back({.name = partition.first});
  const auto metadata = co_await client->call<kafka::MetadataResponse>(request, kMetadataVersion, kCallTimeout);
  client->close();
  if (!metadata || metadata->topics.at(0).error_code != ErrorCode::none) co_return;
  for (const auto& state : metadata->topics.at(0).partitions) {
    Entry& entry = leaders_[{partition.first, state.partition_index}];
    if (state.leader_epoch < entry.leader.epoch) continue;
    const auto broker = std::ranges::find(metadata->brokers, state.leader_id,
                                          &kafka::MetadataResponse::MetadataResponseBroker::node_id);
    if (broker == metadata->brokers.end()) continue;
    entry = {.leader = {.address = {broker->host, static_cast<uint16_t>(broker->port)}, .epoch = state.leader_epoch},
             .fresh = true};
  }
}

Task<BrokerDirectory::Client> BrokerDirectory::coordinator(std::string key, Coordinates what) {
  const Client client = co_await any();
  if (!client) co_return nullptr;
  kafka::FindCoordinatorRequest request;
  request.key_type = std::to_underlying(what);
  request.coordinator_keys = {key};
  const auto found =
      co_await client->call<kafka::FindCoordinatorResponse>(request, kFindCoordinatorVersion, kCallTimeout);
  client->close();
  if (!found || found->coordinators.at(0).error_code != ErrorCode::none) co_return nullptr;
  const auto& coordinator = found->coordinators.at(0);
  co_return co_await connect({coordinator.host, static_cast<uint16_t>(coordinator.port)});
}

}  // namespace naru::simulation
