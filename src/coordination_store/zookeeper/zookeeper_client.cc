#include "coordination_store/zookeeper/zookeeper_client.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <zookeeper/zookeeper.h>

#include "async/one_shot.h"
#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru {

struct ZooKeeperClient::Call {
  Scheduler& scheduler;
  OneShot<Reply> reply;

  // The frame that waits may be gone when the posted function has run, so nothing of this is touched after it.
  void finish(Reply result) {
    scheduler.post([this, result = std::move(result)]() mutable { reply.set(std::move(result)); });
  }
};

struct ZooKeeperClient::MultiCall {
  Scheduler& scheduler;
  OneShot<int> code;
  std::vector<zoo_op_t> operations;
  std::vector<zoo_op_result_t> results;
  std::vector<Stat> stats;
};

// Run on the library's threads.
struct ZooKeeperClient::Callbacks {
  static Call* call_of(const void* data) { return static_cast<Call*>(const_cast<void*>(data)); }
  static ZooKeeperNode node_of(const Stat* stat) {
    return stat == nullptr ? ZooKeeperNode{} : ZooKeeperNode{stat->version, stat->ephemeralOwner};
  }

  static void on_stat(int code, const Stat* stat, const void* data) {
    call_of(data)->finish({.code = code, .stat = node_of(stat)});
  }
  static void on_data(int code, const char* value, int length, const Stat* stat, const void* data) {
    Reply reply{.code = code, .stat = node_of(stat)};
    if (value != nullptr && length > 0) {
      append_bytes(reply.value, as_bytes({value, static_cast<size_t>(length)}));
    }
    call_of(data)->finish(std::move(reply));
  }
  static void on_strings(int code, const String_vector* strings, const void* data) {
    Reply reply{.code = code};
    for (int i = 0; strings != nullptr && i < strings->count; ++i) reply.children.emplace_back(strings->data[i]);
    call_of(data)->finish(std::move(reply));
  }
  static void on_string(int code, const char*, const void* data) { call_of(data)->finish({.code = code}); }
  static void on_multi(int code, const void* data) {
    auto* call = static_cast<MultiCall*>(const_cast<void*>(data));
    call->scheduler.post([call, code] { call->code.set(code); });
  }
  static void on_session_event(zhandle_t* handle, int type, int state, const char*, void*) {
    auto* client = static_cast<ZooKeeperClient*>(const_cast<void*>(zoo_get_context(handle)));
    if (state == ZOO_CONNECTED_STATE) client->session_id_ = zoo_client_id(handle)->client_id;
    client->note_session(type, state);
  }
  static void on_node_event(zhandle_t*, int type, int, const char* path, void* context) {
    if (type != ZOO_SESSION_EVENT) static_cast<ZooKeeperClient*>(context)->note_node(path);
  }
  static void on_log(const char* message) { log_debug("zookeeper", "{}", message); }
};

namespace {

zoo_op_t library_operation(const ZooKeeperOperation& operation, Stat* stat) {
  const std::string_view value = as_text(operation.value);
  const char* data = value.empty() ? "" : value.data();
  const auto length = static_cast<int>(value.size());
  zoo_op_t op;
  switch (operation.kind) {
    case ZooKeeperOperation::Kind::check:
      zoo_check_op_init(&op, operation.node.c_str(), operation.version);
      break;
    case ZooKeeperOperation::Kind::create:
      zoo_create_op_init(&op, operation.node.c_str(), data, length, &ZOO_OPEN_ACL_UNSAFE,
                         operation.ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, nullptr, 0);
      break;
    case ZooKeeperOperation::Kind::set:
      zoo_set_op_init(&op, operation.node.c_str(), data, length, operation.version, stat);
      break;
    case ZooKeeperOperation::Kind::remove:
      zoo_delete_op_init(&op, operation.node.c_str(), operation.version);
      break;
  }
  return op;
}

}  // namespace

ZooKeeperClient::~ZooKeeperClient() {
  NARU_ASSERT(handle_ == nullptr, "a ZooKeeper client is destroyed before it is closed");
}

Status ZooKeeperClient::open(const std::string& servers, Duration session_timeout,
                             std::weak_ptr<ZooKeeperListener> listener) {
  listener_ = std::move(listener);
  zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
  const auto timeout = static_cast<int>(std::chrono::duration_cast<Milliseconds>(session_timeout).count());
  const std::lock_guard lock(mutex_);
  handle_ =
      zookeeper_init2(servers.c_str(), &Callbacks::on_session_event, timeout, nullptr, this, 0, &Callbacks::on_log);
  if (handle_ != nullptr) return {};
  return error(ErrorCode::unavailable, "the ZooKeeper servers {} cannot be looked up: {}", servers,
               std::strerror(errno));
}

void ZooKeeperClient::close() {
  _zhandle* handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    handle = std::exchange(handle_, nullptr);
  }
  if (handle != nullptr) zookeeper_close(handle);
  state_ = SessionState::expired;
}

void ZooKeeperClient::note_session(int type, int state) {
  if (type != ZOO_SESSION_EVENT || state_ == SessionState::expired) return;
  SessionState now = SessionState::suspended;
  if (state == ZOO_CONNECTED_STATE) now = SessionState::connected;
  if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) now = SessionState::expired;
  if (state_.exchange(now) == now) return;
  scheduler_.post([listener = listener_] {
    if (const auto kept = listener.lock()) kept->on_session_changed();
  });
}

void ZooKeeperClient::note_node(const char* path) {
  scheduler_.post([listener = listener_, node = std::string(path)]() mutable {
    if (const auto kept = listener.lock()) kept->on_node_changed(std::move(node));
  });
}

template <class Request>
int ZooKeeperClient::with_handle(Request request) {
  const std::lock_guard lock(mutex_);
  return handle_ == nullptr ? ZCLOSING : request(handle_);
}

Task<ZooKeeperClient::Reply> ZooKeeperClient::exists(std::string node, bool watch) {
  Call call{scheduler_};
  const int code = with_handle([&](_zhandle* handle) {
    return zoo_awexists(handle, node.c_str(), watch ? &Callbacks::on_node_event : nullptr, this, &Callbacks::on_stat,
                        &call);
  });
  if (code != ZOK) co_return Reply{.code = code};
  co_return co_await call.reply;
}

Task<ZooKeeperClient::Reply> ZooKeeperClient::get(std::string node) {
  Call call{scheduler_};
  const int code = with_handle(
      [&](_zhandle* handle) { return zoo_awget(handle, node.c_str(), nullptr, nullptr, &Callbacks::on_data, &call); });
  if (code != ZOK) co_return Reply{.code = code};
  co_return co_await call.reply;
}

Task<ZooKeeperClient::Reply> ZooKeeperClient::children(std::string node, bool watch) {
  Call call{scheduler_};
  const int code = with_handle([&](_zhandle* handle) {
    return zoo_awget_children(handle, node.c_str(), watch ? &Callbacks::on_node_event : nullptr, this,
                              &Callbacks::on_strings, &call);
  });
  if (code != ZOK) co_return Reply{.code = code};
  co_return co_await call.reply;
}

Task<ZooKeeperClient::Reply> ZooKeeperClient::create_folder(std::string node) {
  Call call{scheduler_};
  const int code = with_handle([&](_zhandle* handle) {
    return zoo_acreate(handle, node.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, &Callbacks::on_string, &call);
  });
  if (code != ZOK) co_return Reply{.code = code};
  co_return co_await call.reply;
}

Task<ZooKeeperClient::Reply> ZooKeeperClient::sync(std::string node) {
  Call call{scheduler_};
  const int code =
      with_handle([&](_zhandle* handle) { return zoo_async(handle, node.c_str(), &Callbacks::on_string, &call); });
  if (code != ZOK) co_return Reply{.code = code};
  co_return co_await call.reply;
}

Task<ZooKeeperClient::MultiReply> ZooKeeperClient::multi(const std::vector<ZooKeeperOperation>& operations) {
  MultiCall call{.scheduler = scheduler_};
  call.results.resize(operations.size());
  call.stats.resize(operations.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    call.operations.push_back(library_operation(operations[i], &call.stats[i]));
  }
  const int refused = with_handle([&](_zhandle* handle) {
    return zoo_amulti(handle, static_cast<int>(call.operations.size()), call.operations.data(), call.results.data(),
                      &Callbacks::on_multi, &call);
  });
  if (refused != ZOK) co_return MultiReply{.code = refused};
  MultiReply reply{.code = co_await call.code};
  // Those before the one that failed say that they went well, those behind it that they did not run.
  while (reply.failed_operation < call.results.size()) {
    const int result = call.results[reply.failed_operation].err;
    if (result != ZOK && result != ZRUNTIMEINCONSISTENCY) break;
    ++reply.failed_operation;
  }
  co_return reply;
}

Status zookeeper_status(int code, const std::string& node) {
  switch (code) {
    case ZOK:
      return {};
    case ZNONODE:
      return error(ErrorCode::not_found, "ZooKeeper has no node {}", node);
    case ZNOAUTH:
    case ZAUTHFAILED:
      return error(ErrorCode::unavailable, "ZooKeeper does not let this broker use {}", node);
    default:
      return error(ErrorCode::unavailable, "ZooKeeper: {}", zerror(code));
  }
}

}  // namespace naru
