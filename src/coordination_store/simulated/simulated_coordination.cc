#include "coordination_store/simulated/simulated_coordination.h"

#include <algorithm>
#include <utility>

#include "coordination_store/simulated/simulated_session.h"
#include "foundation/assert.h"

namespace naru {
namespace {

constexpr size_t kVersionsKept = 12;  // for stale reads

// The store that a broker holds; the session behind it is shared with messages that are on their way.
class SessionStore final : public CoordinationStore {
 public:
  explicit SessionStore(std::shared_ptr<SimulatedSession> session) : session_(std::move(session)) {}

  Task<Result<std::optional<KeyValue>>> get(std::string key) override { return session_->get(std::move(key)); }
  Task<Result<std::vector<KeyValue>>> list(std::string folder) override { return session_->list(std::move(folder)); }
  Task<Result<std::vector<KeyVersion>>> commit(Transaction transaction) override {
    return session_->commit(std::move(transaction));
  }
  std::unique_ptr<Watch> watch(std::string subject) override { return session_->watch(std::move(subject)); }
  Task<Session> session() override { co_return session_->session(); }
  Task<Status> close() override {
    session_->close();
    co_return Status();
  }

 private:
  const std::shared_ptr<SimulatedSession> session_;
};

}  // namespace

SimulatedCoordination::SimulatedCoordination(SimulatedWorld& world) : world_(world) {
  versions_.emplace_back();
}

SimulatedCoordination::~SimulatedCoordination() = default;

std::unique_ptr<CoordinationStore> SimulatedCoordination::connect(Seams seams, std::string host,
                                                                  Duration session_timeout) {
  auto session = std::make_shared<SimulatedSession>(*this, world_.node(host), seams, session_timeout);
  session->start();
  return std::make_unique<SessionStore>(std::move(session));
}

void SimulatedCoordination::set_reachable(const std::string& host, bool reachable) {
  set_requests_arrive(host, reachable);
  set_answers_arrive(host, reachable);
}

void SimulatedCoordination::set_requests_arrive(const std::string& host, bool arrive) {
  if (!arrive) {
    requests_cut_.insert(host);
  } else if (requests_cut_.erase(host) > 0) {
    release_parked_requests();
  }
}

void SimulatedCoordination::set_answers_arrive(const std::string& host, bool arrive) {
  if (arrive) {
    answers_cut_.erase(host);
  } else {
    answers_cut_.insert(host);
  }
}

void SimulatedCoordination::set_down(bool down) {
  if (std::exchange(down_, down) == down || down) return;
  for (auto& [id, record] : sessions_) {
    if (!record.established || record.ended) continue;
    record.deadline = queue().now() + record.timeout;
    arm_expiry(record);
  }
  release_parked_requests();
}

void SimulatedCoordination::expire(const std::string& host) {
  for (auto& [id, record] : sessions_) {
    if (record.host == host && record.established) end_session(record);
  }
}

void SimulatedCoordination::heal() {
  faults_ = {
      .delay_min = faults_.delay_min, .delay_max = faults_.delay_max, .watch_delay_max = faults_.watch_delay_max};
  answers_cut_.clear();
  requests_cut_.clear();
  set_down(false);
  release_parked_requests();
}

SimulatedCoordination::Record& SimulatedCoordination::add_session(const std::shared_ptr<SimulatedSession>& client) {
  const auto id = static_cast<SessionId>(sessions_.size() + 1);
  Record& record = sessions_[id];
  record.id = id;
  record.host = client->host();
  record.timeout = client->timeout();
  record.client = client;
  record.owner = client->owner();
  return record;
}

void SimulatedCoordination::send_request(Record& record, Duration delay, Request request) {
  queue().add(queue().now() + delay, SimulatedEventQueue::kWorld,
              [this, id = record.id, request = std::move(request)]() mutable { arrive(id, std::move(request)); });
}

// What comes to a closed door is lost, or waits there.
void SimulatedCoordination::arrive(SessionId session, Request request) {
  Record& record = sessions_.at(session);
  if (!can_request(record)) {
    if (random().one_in(2)) parked_.push_back({session, std::move(request)});
    return;
  }
  if (record.ended) {
    send_to_client(record, [](SimulatedSession& client) { client.on_expired(); });
    return;
  }
  touch(record);
  request(record);
}

void SimulatedCoordination::release_parked_requests() {
  for (ParkedRequest& parked : std::exchange(parked_, {})) {
    send_request(sessions_.at(parked.session), message_delay(), std::move(parked.request));
  }
}

void SimulatedCoordination::touch(Record& record) {
  record.established = true;
  record.deadline = queue().now() + record.timeout;
  arm_expiry(record);
}

void SimulatedCoordination::arm_expiry(Record& record) {
  if (std::exchange(record.expiry_armed, true)) return;
  queue().add(record.deadline, SimulatedEventQueue::kWorld, [this, id = record.id] { check_expiry(id); });
}

void SimulatedCoordination::check_expiry(SessionId session) {
  Record& record = sessions_.at(session);
  record.expiry_armed = false;
  if (record.ended || down_) return;
  if (queue().now() >= record.deadline) {
    end_session(record);
  } else {
    arm_expiry(record);
  }
}

void SimulatedCoordination::end_session(Record& record) {
  if (std::exchange(record.ended, true)) return;
  StoreState state = versions_.back().state;
  const std::vector<std::string> deleted = state.end_session(record.id);
  if (!deleted.empty()) add_version(std::move(state), deleted);
}

void SimulatedCoordination::end_by_client(Record& record) {
  if (can_request(record)) end_session(record);
}

bool SimulatedCoordination::can_request(const Record& record) const {
  return !down_ && !requests_cut_.contains(record.host);
}

bool SimulatedCoordination::can_answer(const Record& record) const {
  return !down_ && !answers_cut_.contains(record.host);
}

void SimulatedCoordination::answer(Record& record, uint64_t request, Answer answer) {
  send_to_client(record, [request, answer = std::move(answer)](SimulatedSession& client) mutable {
    client.on_answer(request, std::move(answer));
  });
}

void SimulatedCoordination::send_to_client(const Record& record, UniqueFunction<void(SimulatedSession&)> message) {
  if (!can_answer(record)) return;
  queue().add(queue().now() + message_delay(), record.owner,
              [client = record.client, message = std::move(message)]() mutable {
                const auto session = client.lock();
                if (session && session->is_alive()) message(*session);
              });
}

void SimulatedCoordination::keep_alive(Record& record, MonotonicTime sent_at) {
  send_to_client(record, [sent_at](SimulatedSession& client) { client.on_contact(sent_at); });
  if (!record.changes.empty()) tell_changes(record.id);  // those that a cut link held back
}

void SimulatedCoordination::serve_get(Record& record, uint64_t request, const std::string& key) {
  answer(record, request, version_for_read(record).get(key));
}

void SimulatedCoordination::serve_list(Record& record, uint64_t request, const std::string& folder) {
  std::vector<KeyValue> found = version_for_read(record).list(folder);
  if (!strikes(faults_.torn_list_one_in)) return answer(record, request, std::move(found));
  send_request(record, message_delay(), [this, request, names = std::move(found)](Record& later) {
    const StoreState& state = version_for_read(later);
    std::vector<KeyValue> values;
    for (const KeyValue& name : names) {
      if (auto value = state.get(name.key)) values.push_back(std::move(*value));
    }
    answer(later, request, std::move(values));
  });
}

void SimulatedCoordination::serve_commit(Record& record, uint64_t request, Transaction transaction) {
  Answer result;
  if (Status held = state().check(transaction); !held.ok()) {
    result = std::move(held);
  } else if (transaction.puts.empty() && transaction.deletes.empty()) {
    result = std::vector<KeyVersion>();
  } else {
    std::vector<std::string> changed = transaction.deletes;
    for (const Put& put : transaction.puts) changed.push_back(put.key);
    StoreState state = versions_.back().state;
    result = state.apply(std::move(transaction), record.id);
    add_version(std::move(state), changed);
  }
  record.seen_revision = revision();
  answer(record, request, std::move(result));
}

const StoreState& SimulatedCoordination::version_for_read(Record& record) {
  size_t chosen = versions_.size() - 1;
  if (strikes(faults_.stale_read_one_in)) {
    const auto oldest = std::ranges::find_if(
        versions_, [&record](const Version& version) { return version.revision >= record.seen_revision; });
    const auto first = static_cast<size_t>(oldest - versions_.begin());
    chosen = first + random().below(versions_.size() - first);
  }
  record.seen_revision = versions_[chosen].revision;
  return versions_[chosen].state;
}

void SimulatedCoordination::add_version(StoreState state, const std::vector<std::string>& changed) {
  versions_.push_back({revision() + 1, std::move(state)});
  if (versions_.size() > kVersionsKept) versions_.pop_front();
  queue().trace().mix(revision());
  for (const std::string& key : changed) queue().trace().mix(key);
  for (auto& [id, record] : sessions_) {
    if (record.ended || !record.established) continue;
    record.changes.insert(changed.begin(), changed.end());
    if (std::exchange(record.telling, true)) continue;
    queue().add(queue().now() + random_between(Duration(0), faults_.watch_delay_max), SimulatedEventQueue::kWorld,
                [this, session = id] { tell_changes(session); });
  }
}

// Changes that cannot be told stay until there is contact again.
void SimulatedCoordination::tell_changes(SessionId session) {
  Record& record = sessions_.at(session);
  record.telling = false;
  if (record.ended || !can_answer(record)) return;
  record.seen_revision = revision();  // who has been told of a change reads it
  std::vector<std::string> keys(record.changes.begin(), record.changes.end());
  record.changes.clear();
  send_to_client(record, [keys = std::move(keys)](SimulatedSession& client) { client.on_changes(keys); });
}

Duration SimulatedCoordination::random_between(Duration from, Duration to) {
  const auto range = static_cast<uint64_t>(std::max<int64_t>((to - from).count(), 0));
  return from + Duration(static_cast<int64_t>(random().below(range + 1)));
}

}  // namespace naru
