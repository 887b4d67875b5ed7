#include "coordination_store/zookeeper/zookeeper_store.h"

#include <algorithm>
#include <utility>

#include <zookeeper/zookeeper.h>

#include "async/task_group.h"

namespace naru {
namespace {

using Reply = ZooKeeperClient::Reply;

constexpr size_t kRequestsAtOnce = 500;
constexpr int kMaxPlans = 50;
constexpr Duration kRetryRootAfter = 100ms;
constexpr size_t kMaxRequestBytes = 1'040'000;  // of the 1 MiB - 1 that a server takes

Task<void> look_at(ZooKeeperClient& client, std::string node, Reply& reply) {
  reply = co_await client.exists(std::move(node), false);
}

Task<void> read_value(ZooKeeperClient& client, std::string node, Reply& reply) {
  reply = co_await client.get(std::move(node));
}

KeyValue key_value(std::string key, Reply reply) {
  return {std::move(key), SharedBytes(std::move(reply.value)), reply.stat.version + 1};
}

std::vector<std::string> changed_or_compared_keys(const Transaction& transaction) {
  std::vector<std::string> keys = keys_to_look_at(transaction);
  for (const Compare& compare : transaction.compares) keys.push_back(compare.key);
  return keys;
}

// Refused because of the nodes that are there, so that nothing happened.
bool is_refusal(int code) {
  return code == ZNONODE || code == ZNODEEXISTS || code == ZBADVERSION || code == ZNOTEMPTY;
}

}  // namespace

ZooKeeperStore::ZooKeeperStore(Seams seams, ZooKeeperOptions options)
    : seams_(seams),
      options_(std::move(options)),
      paths_(options_.root),
      client_(seams.scheduler),
      watches_(std::make_shared<ZooKeeperWatches>(seams, paths_, client_)) {}

Task<Result<std::unique_ptr<ZooKeeperStore>>> ZooKeeperStore::open(Seams seams, ZooKeeperOptions options) {
  std::unique_ptr<ZooKeeperStore> store(new ZooKeeperStore(seams, std::move(options)));
  Status begun = co_await store->begin();
  if (begun.ok()) co_return store;
  ignore(co_await store->close());
  co_return failure(std::move(begun));
}

Task<Status> ZooKeeperStore::begin() {
  NARU_CO_TRY(co_await on_worker(
      seams_.scheduler, [this] { return client_.open(options_.servers, options_.session_timeout, watches_); }));
  const MonotonicTime deadline = seams_.clock.now() + options_.connect_timeout;
  for (;;) {
    NARU_CO_TRY(co_await wait_for_session(deadline));
    Status made = co_await make_folders(paths_.root_nodes());
    if (made.code() != ErrorCode::unavailable || seams_.clock.now() >= deadline) co_return made;
    // The session may have been interrupted again.
    NARU_CO_TRY(co_await sleep_until(seams_.scheduler, seams_.clock.now() + kRetryRootAfter, options_.cancelled));
  }
}

Task<Status> ZooKeeperStore::wait_for_session(MonotonicTime deadline) {
  CancelSource source;
  const auto session = watches_->watch_session();
  const auto timer = seams_.scheduler.start_timer(deadline, [source]() mutable { source.cancel(); });
  const CancelCallback on_cancel(options_.cancelled, [source]() mutable { source.cancel(); });
  Status waited;
  while (waited.ok() && client_.session().state == SessionState::suspended) {
    waited = co_await session->next(source.token());
  }
  seams_.scheduler.cancel_timer(timer);
  if (client_.session().state == SessionState::connected) co_return Status();
  co_return error(ErrorCode::unavailable, "none of the ZooKeeper servers {} answered within {} ms", options_.servers,
                  std::chrono::duration_cast<Milliseconds>(options_.connect_timeout).count());
}

Task<Status> ZooKeeperStore::close() {
  if (closed_.exchange(true)) co_return Status();
  co_await on_worker(seams_.scheduler, [this] { client_.close(); });
  co_await watches_->stop();
  co_return Status();
}

Task<Result<std::optional<KeyValue>>> ZooKeeperStore::get(std::string key) {
  NARU_CO_TRY(validate_key(key));
  const std::string node = paths_.value_node(key);
  Reply reply = co_await client_.get(node);
  if (reply.code == ZNONODE) co_return std::optional<KeyValue>();
  NARU_CO_TRY(zookeeper_status(reply.code, node));
  co_return key_value(std::move(key), std::move(reply));
}

Task<Result<std::vector<KeyValue>>> ZooKeeperStore::list(std::string folder) {
  NARU_CO_TRY(validate_subject(folder));
  std::vector<std::string> keys, folders{std::move(folder)};
  while (!folders.empty()) {
    const std::string node = paths_.folder_node(folders.back());
    folders.pop_back();
    const Reply reply = co_await client_.children(node, false);
    if (reply.code == ZNONODE) continue;
    NARU_CO_TRY(zookeeper_status(reply.code, node));
    for (const std::string& child : reply.children) {
      auto subject = paths_.subject_of(fmt::format("{}/{}", node, child));
      if (subject) (subject->ends_with('/') ? folders : keys).push_back(std::move(*subject));
    }
  }
  std::ranges::sort(keys);
  co_return co_await read_values(std::move(keys));
}

// Those that have been deleted meanwhile are left out.
Task<Result<std::vector<KeyValue>>> ZooKeeperStore::read_values(std::vector<std::string> keys) {
  std::vector<KeyValue> found;
  for (size_t begin = 0; begin < keys.size(); begin += kRequestsAtOnce) {
    const size_t count = std::min(kRequestsAtOnce, keys.size() - begin);
    std::vector<Reply> replies(count);
    TaskGroup group;
    for (size_t i = 0; i < count; ++i) {
      group.spawn(read_value(client_, paths_.value_node(keys[begin + i]), replies[i]));
    }
    co_await group.join();
    for (size_t i = 0; i < count; ++i) {
      if (replies[i].code == ZNONODE) continue;
      NARU_CO_TRY(zookeeper_status(replies[i].code, keys[begin + i]));
      found.push_back(key_value(std::move(keys[begin + i]), std::move(replies[i])));
    }
  }
  co_return found;
}

Task<Result<std::vector<KeyVersion>>> ZooKeeperStore::commit(Transaction transaction) {
  NARU_CO_TRY(validate_transaction(transaction));
  if (!can_hold(transaction)) co_return failure(ErrorCode::version_conflict, "a version that no key can have");
  for (int plans = 0; plans < kMaxPlans; ++plans) {
    std::vector<std::string> folders;
    for (const std::string& key : changed_or_compared_keys(transaction)) {
      for (const std::string& folder : ZooKeeperPaths::folders_of(key)) folders.push_back(paths_.folder_node(folder));
    }
    NARU_CO_TRY(co_await make_folders(std::move(folders)));
    NARU_CO_TRY_ASSIGN(const ZooKeeperNodes nodes, co_await look_at_nodes(transaction));
    ZooKeeperPlan plan = plan_operations(transaction, nodes, client_.session().id, paths_);
    if (plan.operations.empty()) co_return plan.versions;
    if (request_bytes(plan) > kMaxRequestBytes) {
      co_return failure(ErrorCode::invalid_argument, "a transaction of {} bytes is too large for ZooKeeper",
                        request_bytes(plan));
    }
    const auto reply = co_await client_.multi(plan.operations);
    if (reply.code == ZOK) co_return std::move(plan.versions);
    if (!is_refusal(reply.code)) co_return failure(zookeeper_status(reply.code, paths_.root()));
    if (reply.failed_operation < plan.compare_count) {
      const ZooKeeperOperation& failed = plan.operations[reply.failed_operation];
      const auto key = paths_.subject_of(failed.node);
      if (reply.code != ZNONODE || failed.kind == ZooKeeperOperation::Kind::check) {
        co_return failure(ErrorCode::version_conflict, "key {} does not have the version that was expected",
                          key.value_or(failed.node));
      }
    }
    // A node is not as it was when it was looked at: once more, with what the leader knows.
    {
      const std::lock_guard lock(mutex_);
      known_folders_.clear();
    }
    const Reply synced = co_await client_.sync(paths_.root());
    NARU_CO_TRY(zookeeper_status(synced.code, paths_.root()));
  }
  co_return failure(ErrorCode::unavailable, "the keys of a transaction were changed by others all the time");
}

// Outermost first.
Task<Status> ZooKeeperStore::make_folders(std::vector<std::string> nodes) {
  for (std::string& node : nodes) {
    {
      const std::lock_guard lock(mutex_);
      if (known_folders_.contains(node)) continue;
    }
    const Reply reply = co_await client_.create_folder(node);
    if (reply.code != ZNODEEXISTS) NARU_CO_TRY(zookeeper_status(reply.code, node));
    const std::lock_guard lock(mutex_);
    known_folders_.insert(std::move(node));
  }
  co_return Status();
}

Task<Result<ZooKeeperNodes>> ZooKeeperStore::look_at_nodes(const Transaction& transaction) {
  const std::vector<std::string> keys = keys_to_look_at(transaction);
  std::vector<Reply> replies(keys.size());
  TaskGroup group;
  for (size_t i = 0; i < keys.size(); ++i) group.spawn(look_at(client_, paths_.value_node(keys[i]), replies[i]));
  co_await group.join();
  ZooKeeperNodes nodes;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (replies[i].code == ZNONODE) continue;
    NARU_CO_TRY(zookeeper_status(replies[i].code, keys[i]));
    nodes.emplace(keys[i], replies[i].stat);
  }
  co_return nodes;
}

}  // namespace naru
