#include "coordination_store/simulated/simulated_session.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace naru {
namespace {

constexpr int kKeepAlivesPerTimeout = 4;
constexpr uint64_t kNobodysRequest = 0;
constexpr SimulatedEventQueue::Owner kDeadProcess = std::numeric_limits<SimulatedEventQueue::Owner>::max();

SimulatedEventQueue::Owner owner_on(SimulatedNode& node) {
  return node.running() != nullptr ? node.running()->scheduler().owner() : kDeadProcess;
}

}  // namespace

SimulatedSession::SimulatedSession(SimulatedCoordination& service, SimulatedNode& node, Seams seams, Duration timeout)
    : service_(service),
      node_(node),
      seams_(seams),
      timeout_(timeout),
      owner_(owner_on(node)),
      last_contact_(seams.clock.now()) {}

void SimulatedSession::start() {
  record_ = &service_.add_session(shared_from_this());
  tick();
}

bool SimulatedSession::is_alive() const {
  return node_.running() != nullptr && node_.running()->scheduler().owner() == owner_;
}

void SimulatedSession::tick() {
  if (closed_ || state_ == SessionState::expired) return;
  check_contact();
  send_keep_alive();
  seams_.scheduler.start_timer(now() + timeout_ / kKeepAlivesPerTimeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->tick();
  });
}

void SimulatedSession::send_keep_alive() {
  if (!is_alive()) return;
  service_.send_request(*record_, service_.message_delay(),
                        [&service = service_, sent_at = now()](SimulatedCoordination::Record& record) {
                          service.keep_alive(record, sent_at);
                        });
}

// By its own clock a client knows that its session may be gone, before the service can have ended it.
void SimulatedSession::check_contact() {
  if (state_ == SessionState::connected && now() - last_contact_ >= timeout_ * 2 / 3) {
    change_state(SessionState::suspended);
  }
}

void SimulatedSession::on_contact(MonotonicTime sent_at) {
  if (closed_ || state_ == SessionState::expired) return;
  last_contact_ = std::max(last_contact_, sent_at);
  if (now() - last_contact_ < timeout_ * 2 / 3) change_state(SessionState::connected);
}

void SimulatedSession::on_expired() {
  change_state(SessionState::expired);
  while (!pending_.empty()) give_up(pending_.begin()->first);
}

void SimulatedSession::change_state(SessionState state) {
  if (std::exchange(state_, state) != state) watches_.session_changed();
}

Session SimulatedSession::session() {
  check_contact();
  return {state_, record_->id};
}

void SimulatedSession::close() {
  closed_ = true;
  if (is_alive()) service_.end_by_client(*record_);
  on_expired();
}

Task<Result<std::optional<KeyValue>>> SimulatedSession::get(std::string key) {
  NARU_CO_TRY(validate_key(key));
  Answer answer = co_await ask(
      [&service = service_, key = std::move(key)](SimulatedCoordination::Record& record, uint64_t request) {
        service.serve_get(record, request, key);
      },
      false);
  if (auto* status = std::get_if<Status>(&answer)) co_return failure(std::move(*status));
  co_return std::get<std::optional<KeyValue>>(std::move(answer));
}

Task<Result<std::vector<KeyValue>>> SimulatedSession::list(std::string folder) {
  NARU_CO_TRY(validate_subject(folder));
  Answer answer = co_await ask(
      [&service = service_, folder = std::move(folder)](SimulatedCoordination::Record& record, uint64_t request) {
        service.serve_list(record, request, folder);
      },
      false);
  if (auto* status = std::get_if<Status>(&answer)) co_return failure(std::move(*status));
  co_return std::get<std::vector<KeyValue>>(std::move(answer));
}

Task<Result<std::vector<KeyVersion>>> SimulatedSession::commit(Transaction transaction) {
  NARU_CO_TRY(validate_transaction(transaction));
  Answer answer =
      co_await ask([&service = service_, transaction = std::move(transaction)](
                       SimulatedCoordination::Record& record,
                       uint64_t request) mutable { service.serve_commit(record, request, std::move(transaction)); },
                   true);
  if (auto* status = std::get_if<Status>(&answer)) co_return failure(std::move(*status));
  co_return std::get<std::vector<KeyVersion>>(std::move(answer));
}

std::unique_ptr<Watch> SimulatedSession::watch(std::string subject) {
  auto watch = watches_.watch(subject);
  if (service_.strikes(service_.faults_.spurious_watch_one_in)) {
    seams_.scheduler.start_timer(now() + service_.message_delay(), [weak = weak_from_this(), subject] {
      if (const auto self = weak.lock()) self->on_changes({subject});
    });
  }
  return watch;
}

Task<SimulatedCoordination::Answer> SimulatedSession::ask(Serve serve, bool is_commit) {
  OneShot<Answer> answer;
  begin(answer, std::move(serve), draw_fate(is_commit));
  co_return co_await answer;
}

SimulatedSession::Fate SimulatedSession::draw_fate(bool is_commit) {
  const CoordinationFaults& faults = service_.faults_;
  Fate fate{.arrives_after = service_.message_delay(), .gives_up_after = timeout_};
  if (closed_ || state_ == SessionState::expired) {
    // Not at once: who asks in a loop must not stop time.
    return {.arrives = false, .gives_up_after = fate.arrives_after};
  }
  const Duration cut_after = service_.random_between(Duration(0), timeout_ / 2);
  if (!is_alive()) {
    fate.arrives = false;
  } else if (service_.strikes(faults.lost_request_one_in)) {
    fate = {.arrives = false, .gives_up_after = cut_after};
  } else if (service_.strikes(faults.lost_answer_one_in)) {
    fate.answer_is_lost = true;
    fate.gives_up_after = cut_after;
  } else if (is_commit && service_.strikes(faults.late_commit_one_in)) {
    fate.gives_up_after = cut_after;
    fate.arrives_after = cut_after + service_.random_between(1us, timeout_);
  }
  return fate;
}

void SimulatedSession::begin(OneShot<Answer>& answer, Serve serve, const Fate& fate) {
  const uint64_t request = next_request_++;
  const auto timer = seams_.scheduler.start_timer(now() + fate.gives_up_after, [weak = weak_from_this(), request] {
    if (const auto self = weak.lock()) self->give_up(request);
  });
  pending_.emplace(request, Pending{&answer, timer});
  if (!fate.arrives) return;
  service_.send_request(*record_, fate.arrives_after,
                        [serve = std::move(serve), request = fate.answer_is_lost ? kNobodysRequest : request](
                            SimulatedCoordination::Record& record) mutable { serve(record, request); });
}

void SimulatedSession::give_up(uint64_t request) {
  on_answer(request, Status(ErrorCode::unavailable, "no answer of the coordination service"));
}

void SimulatedSession::on_answer(uint64_t request, Answer answer) {
  const auto found = pending_.find(request);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  pending_.erase(found);
  seams_.scheduler.cancel_timer(pending.timer);
  pending.answer->set(std::move(answer));
}

}  // namespace naru
