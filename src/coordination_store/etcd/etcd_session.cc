#include "coordination_store/etcd/etcd_session.h"

#include <algorithm>
#include <utility>

namespace naru {
namespace {

constexpr Duration kRetryGrantAfter = 200ms;
constexpr Duration kRevokeTimeout = 2s;
constexpr Duration kLeastTimeout = 100ms;

// etcd counts in seconds.
int64_t lease_seconds(Duration timeout) {
  return std::chrono::ceil<std::chrono::seconds>(timeout).count();
}

}  // namespace

Task<Status> EtcdSession::begin(Duration within, CancelToken cancelled) {
  const MonotonicTime deadline = seams_.clock.now() + within;
  Status got = co_await get_lease(deadline);
  while (!got.ok() && seams_.clock.now() + kRetryGrantAfter < deadline) {
    NARU_CO_TRY(co_await sleep_until(seams_.scheduler, seams_.clock.now() + kRetryGrantAfter, cancelled));
    got = co_await get_lease(deadline);
  }
  NARU_CO_TRY(std::move(got));
  become(SessionState::connected);
  tasks_.spawn(keep_alive());
  co_return Status();
}

// For an answer of one server, when all of them may be asked.
Duration EtcdSession::until(MonotonicTime deadline) const {
  const Duration share = (deadline - seams_.clock.now()) / static_cast<int64_t>(client_.server_count());
  return std::clamp(share, kLeastTimeout, timeout_ / 2);
}

Task<Status> EtcdSession::get_lease(MonotonicTime deadline) {
  const MonotonicTime asked = seams_.clock.now();
  EtcdReply granted =
      co_await client_.call("/v3/lease/grant", etcd_grant_request(lease_seconds(timeout_)), until(deadline));
  NARU_CO_TRY(std::move(granted.status));
  NARU_CO_TRY_ASSIGN(const int64_t lease, parse_etcd_grant(granted.body));
  const EtcdReply put = co_await client_.call("/v3/kv/put", etcd_put_session_request(keys_, lease), until(deadline));
  NARU_CO_TRY(put.status);
  lease_ = lease;
  last_contact_ = asked;
  co_return Status();
}

// On the client's thread: what clients ask of this broker may keep its loops busy, and that must not cost it its lease.
Task<void> EtcdSession::keep_alive() {
  const std::string body = etcd_lease_request(lease_);
  // All servers are asked before two thirds of the timeout have passed.
  const Duration per_server = timeout_ / 2 / static_cast<int64_t>(client_.server_count());
  while (!tasks_.token().cancelled() && state_ != SessionState::expired) {
    if (!co_await client_.http().pause_aside(timeout_ / 6, tasks_.token())) break;  // nothing is sent any more
    const MonotonicTime sent = seams_.clock.now();
    const EtcdReply reply = co_await client_.call_aside("/v3/lease/keepalive", body, per_server);
    const auto seconds = reply.status.ok() ? parse_etcd_keepalive(reply.body) : failure(reply.status);
    if (!seconds) {
      note_and_tell_on_loop(SessionState::suspended);
    } else if (*seconds <= 0) {
      note_and_tell_on_loop(SessionState::expired);
    } else {
      last_contact_ = sent;
      if (!is_silent()) note_and_tell_on_loop(SessionState::connected);
    }
  }
  co_await to_loop(seams_.scheduler);  // whoever joins goes on there
}

void EtcdSession::note_and_tell_on_loop(SessionState state) {
  if (note(state)) tasks_.spawn(tell_on_loop());
}

Task<void> EtcdSession::tell_on_loop() {
  co_await to_loop(seams_.scheduler);
  changed_();
}

Session EtcdSession::session() {
  if (state_ == SessionState::connected && is_silent()) become(SessionState::suspended);
  return {state_, lease_};
}

bool EtcdSession::is_silent() const {
  return seams_.clock.now() - last_contact_.load() >= timeout_ / 2;
}

void EtcdSession::become(SessionState state) {
  if (note(state)) changed_();
}

bool EtcdSession::note(SessionState state) {
  SessionState before = state_;
  do {
    if (before == state || before == SessionState::expired) return false;
  } while (!state_.compare_exchange_weak(before, state));
  return true;
}

Task<void> EtcdSession::end() {
  tasks_.cancel();
  co_await tasks_.join();
  if (lease_ != 0 && state_ != SessionState::expired) {
    ignore((co_await client_.call("/v3/lease/revoke", etcd_lease_request(lease_), kRevokeTimeout)).status);
  }
  become(SessionState::expired);
}

}  // namespace naru
