#include "coordination_store/open_store.h"

#include <utility>

#include "coordination_store/etcd/etcd_store.h"
#include "coordination_store/zookeeper/zookeeper_store.h"

namespace naru {
namespace {

using OpenedStore = Result<std::unique_ptr<CoordinationStore>>;

std::vector<std::string> server_texts(const CoordinationAddress& address) {
  std::vector<std::string> texts;
  texts.reserve(address.servers.size());
  for (const Endpoint& server : address.servers) texts.push_back(server.to_string());
  return texts;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
  return all;
}

template <class Store>
OpenedStore opened_or_advice(Result<std::unique_ptr<Store>> opened, const CoordinationAddress& address) {
  if (opened) return std::move(*opened);
  return failure(ErrorCode::unavailable,
                 "cannot begin a session at {}: {}. Start the service, or correct naru.coordination (--coordination)",
                 address.to_string(), opened.error().message());
}

Task<OpenedStore> open_embedded(Seams seams, EmbeddedStoreOptions options) {
  NARU_CO_TRY_ASSIGN(auto store,
                     co_await EmbeddedStore::open(seams.files, seams.scheduler, seams.random, std::move(options)));
  co_return std::move(store);
}

}  // namespace

Task<OpenedStore> open_coordination_store(Seams seams, StoreOptions options) {
  const CoordinationAddress& address = options.address;
  switch (address.service) {
    case CoordinationService::zookeeper:
      co_return opened_or_advice(co_await ZooKeeperStore::open(seams, {.servers = joined(server_texts(address)),
                                                                       .root = address.root,
                                                                       .session_timeout = options.session_timeout,
                                                                       .connect_timeout = options.connect_timeout,
                                                                       .cancelled = options.cancelled}),
                                 address);
    case CoordinationService::etcd:
      co_return opened_or_advice(co_await EtcdStore::open(seams, {.servers = server_texts(address),
                                                                  .root = address.root,
                                                                  .session_timeout = options.session_timeout,
                                                                  .connect_timeout = options.connect_timeout,
                                                                  .cancelled = options.cancelled}),
                                 address);
    case CoordinationService::embedded:
      break;
  }
  co_return co_await open_embedded(seams, std::move(options.embedded));
}

}  // namespace naru
