#include "coordination_store/etcd/etcd_client.h"

#include <utility>

#include "coordination_store/etcd/etcd_messages.h"

namespace naru {
namespace {

constexpr int kHttpOk = 200;

EtcdReply reply_of(HttpAnswer answer, const std::string& server) {
  if (answer.outcome != HttpAnswer::Outcome::answered) {
    return {.status = error(ErrorCode::unavailable, "no answer of etcd at {}: {}", server, answer.problem)};
  }
  if (answer.status == kHttpOk) return {.body = std::move(answer.body)};
  EtcdRefusal refusal = parse_etcd_refusal(answer.status, answer.body);
  return {.status = std::move(refusal.status), .lease_is_gone = refusal.lease_is_gone};
}

}  // namespace

HttpRequest EtcdClient::request(std::string_view path, std::string body) const {
  return {.url = fmt::format("http://{}{}", servers_[current_], path), .body = std::move(body)};
}

Task<EtcdReply> EtcdClient::call(std::string path, std::string body, Duration timeout) {
  co_return co_await call_any({.body = std::move(body), .timeout = timeout}, std::move(path));
}

Task<EtcdReply> EtcdClient::call_aside(std::string path, std::string body, Duration timeout) {
  co_return co_await call_any({.body = std::move(body), .timeout = timeout}, std::move(path), true);
}

Task<EtcdReply> EtcdClient::call_once(std::string path, std::string body, Duration timeout) {
  co_return co_await call_any({.body = std::move(body), .timeout = timeout, .once = true}, std::move(path));
}

Task<EtcdReply> EtcdClient::call_any(HttpRequest request, std::string path, bool aside) {
  EtcdReply reply;
  for (size_t tries = 0; tries < servers_.size(); ++tries) {
    size_t server = current_;
    request.url = fmt::format("http://{}{}", servers_[server], path);
    HttpAnswer answer = aside ? co_await http_.post_aside(request) : co_await http_.post(request);
    const auto outcome = answer.outcome;
    reply = reply_of(std::move(answer), servers_[server]);
    if (reply.status.ok() || reply.status.code() != ErrorCode::unavailable || reply.lease_is_gone) break;
    current_.compare_exchange_strong(server, (server + 1) % servers_.size());
    if (request.once && outcome != HttpAnswer::Outcome::not_sent) break;
  }
  co_return reply;
}

}  // namespace naru
