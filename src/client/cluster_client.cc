#include "client/cluster_client.h"

#include <algorithm>

#include "client/broker_error.h"
#include "foundation/assert.h"
#include "kafka_protocol/messages/metadata_request.h"

namespace naru::client {
namespace {

// From version 4 on a client can say whether it wants a topic to be created; from 1 on "no topics" is not "all".
constexpr VersionRange kMetadataVersions{.min = 4, .max = 12};

Status closed_error() {
  return error(ErrorCode::cancelled, "the client was closed");
}

}  // namespace

ClusterClient::ClusterClient(Seams seams, ClientOptions options) : seams_(seams), options_(std::move(options)) {
  NARU_ASSERT(!options_.bootstrap.empty(), "a client needs an address to begin with");
}

ClusterClient::~ClusterClient() {
  close();
}

void ClusterClient::close() {
  closed_ = true;
  closing_.cancel();
  for (auto& [name, slot] : slots_) {
    if (const Connection open = std::exchange(slot.open, nullptr)) open->close();
  }
}

Task<void> ClusterClient::back_off() {
  ignore(co_await sleep_until(seams_.scheduler, seams_.clock.now() + options_.retry_backoff));
}

Task<Result<Connection>> ClusterClient::connect(Endpoint address, ConnectionUse use) {
  if (closed_) co_return failure(closed_error());
  Slot& slot = slots_[{address.to_string(), use}];
  if (slot.open && !slot.open->broken()) co_return slot.open;
  if (slot.opening) {
    OneShot<Result<Connection>> opened;
    slot.waiting.push_back(&opened);
    co_return co_await opened;
  }
  slot.opening = true;
  const ConnectionOptions options{.client_id = options_.client_id,
                                  .software_version = options_.software_version,
                                  .request_timeout = options_.request_timeout};
  Result<Connection> opened = co_await BrokerConnection::open(seams_, std::move(address), options, closing_.token());
  slot.opening = false;
  if (closed_) {
    if (opened) (*opened)->close();
    opened = failure(closed_error());
  }
  slot.open = opened.value_or(nullptr);
  const auto waiting = std::exchange(slot.waiting, {});
  for (auto* waiter : waiting) waiter->set(opened);
  co_return opened;
}

Connection ClusterClient::find_open() const {
  for (const auto& [name, slot] : slots_) {
    if (name.second == ConnectionUse::requests && slot.open && !slot.open->broken()) return slot.open;
  }
  return nullptr;
}

std::vector<Endpoint> ClusterClient::known_addresses() const {
  std::vector<Endpoint> addresses = options_.bootstrap;
  for (const BrokerInfo& broker : metadata_.brokers) {
    if (std::ranges::find(addresses, broker.address) == addresses.end()) addresses.push_back(broker.address);
  }
  return addresses;
}

Task<Result<Connection>> ClusterClient::any_broker() {
  if (auto open = find_open()) co_return open;
  std::string reasons;
  for (const Endpoint& address : known_addresses()) {
    auto opened = co_await connect(address);
    if (opened || closed_) co_return opened;
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", opened.error().message());
  }
  co_return failure(ErrorCode::network_exception, "no broker could be reached: {}", reasons);
}

Task<Result<Connection>> ClusterClient::broker(BrokerId id, ConnectionUse use) {
  if (metadata_.find_broker(id) == nullptr) NARU_CO_TRY(co_await refresh({}));
  const BrokerInfo* known = metadata_.find_broker(id);
  if (known == nullptr) co_return failure(ErrorCode::broker_not_available, "broker {} is not in the cluster", id);
  const Endpoint address = known->address;
  auto opened = co_await connect(address, use);
  if (!opened && !closed_) {
    co_return failure(ErrorCode::network_exception, "broker {} advertises {}, which cannot be reached from here: {}",
                      id, address.to_string(), opened.error().message());
  }
  co_return opened;
}

Task<Result<Connection>> ClusterClient::controller() {
  if (metadata_.controller == kNoBroker) NARU_CO_TRY(co_await refresh({}));
  if (metadata_.controller == kNoBroker) co_return co_await any_broker();
  co_return co_await broker(metadata_.controller);
}

Task<Status> ClusterClient::refresh(std::vector<std::string> topics, AutoCreate auto_create) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await any_broker());
  kafka::MetadataRequest request;
  request.topics.emplace();
  for (const std::string& topic : topics) request.topics->push_back({.topic_id = {}, .name = topic});
  request.allow_auto_topic_creation = auto_create == AutoCreate::yes;
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::MetadataResponse>(
                                              request, options_.request_timeout, kMetadataVersions));
  metadata_.merge(make_metadata(response));
  co_return Status();
}

Task<Status> ClusterClient::refresh_all() {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await any_broker());
  kafka::MetadataRequest request;
  request.topics.reset();
  request.allow_auto_topic_creation = false;
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::MetadataResponse>(
                                              request, options_.request_timeout, kMetadataVersions));
  metadata_ = make_metadata(response);
  co_return Status();
}

}  // namespace naru::client
