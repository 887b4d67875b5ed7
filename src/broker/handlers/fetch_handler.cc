// Fetch: read what is there; if that is too little, park until there is more or the client's patience ends.
//
// A parked fetch costs a timer and one entry per partition, no polling. The append that satisfies it resumes it on its
// own thread, which reads again and answers straight to the socket. In a session the entries stay between fetches, and
// only partitions with news are looked at.
#include <algorithm>
#include <atomic>
#include <memory>

#include "async/wakeup.h"
#include "broker/api_handlers.h"
#include "broker/fetch_sessions.h"
#include "broker/fetch_targets.h"
#include "broker/handlers/decode_request.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/fetch_response.h"

namespace naru {
namespace {

class ParkedFetch final : public FetchWatcher {
 public:
  ParkedFetch(uint64_t id, uint64_t bytes_wanted) : FetchWatcher(id), bytes_wanted_(bytes_wanted) {}

  void more_to_read(uint32_t, uint64_t bytes) override {
    if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes >= bytes_wanted_) wakeup_.wake();
  }
  void state_changed(uint32_t) override { wakeup_.wake(); }
  void log_start_moved(uint32_t, Audience) override {}
  void high_watermark_moved(uint32_t) override {}
  void asked(uint32_t) override { wakeup_.wake(); }
  void give_up() { wakeup_.wake(); }
  OneShot<>& woken() { return wakeup_.event(); }

 private:
  const uint64_t bytes_wanted_;
  std::atomic<uint64_t> bytes_{0};
  Wakeup wakeup_;
};

Response refuse(const RequestContext& context, ErrorCode code) {
  kafka::FetchResponse response;
  response.error_code = code;
  return encode_reply(context, response);
}

size_t count_partitions(const kafka::FetchRequest& request) {
  size_t count = 0;
  for (const auto& topic : request.topics) count += topic.partitions.size();
  return count;
}

// ---- without a session

Task<std::vector<FetchTarget>> targets_of(const BrokerServices& services, const RequestContext& context,
                                          const FetchTerms& terms, const kafka::FetchRequest& request, Turns& turns) {
  std::vector<FetchTarget> targets;
  targets.reserve(count_partitions(request));
  for (const auto& topic : request.topics) {
    co_await turns.step();
    for (const auto& wanted : topic.partitions) {
      co_await turns.step();
      FetchTarget& target = targets.emplace_back(
          FetchTarget{.topic = topic.topic,
                      .topic_id = topic.topic_id,
                      .index = wanted.partition,
                      .offset = wanted.fetch_offset,
                      .current_leader_epoch = wanted.current_leader_epoch,
                      .last_fetched_epoch = wanted.last_fetched_epoch,
                      .flushed_offset = wanted.flushed_offset,
                      .log_start_offset = wanted.log_start_offset,
                      .answered_question = wanted.answered_question,
                      .max_bytes = static_cast<uint32_t>(std::max(wanted.partition_max_bytes, 0))});
      find_partition(services, context, terms, target);
    }
  }
  co_return targets;
}

Task<void> park(const BrokerServices& services, const RequestContext& context, const FetchTerms& terms,
                std::vector<FetchTarget>& targets, uint64_t bytes_missing) {
  const auto parked = std::make_shared<ParkedFetch>(services.next_watcher_id(), bytes_missing);
  const auto timer = services.scheduler.start_timer(terms.deadline, [parked] { parked->give_up(); });
  {
    const CancelCallback client_gone(context.connection->gone(), [parked] { parked->give_up(); });
    for (FetchTarget& target : targets) {
      target.view.slice = {};  // keeps a file open
      target.partition->watch(parked, 0, target.view.readable_bytes, terms.audience());
    }
    co_await parked->woken();
  }
  context.times.skip_wait(services.clock.now());
  services.scheduler.cancel_timer(timer);
  for (const FetchTarget& target : targets) target.partition->unwatch(parked->id());
}

Task<Response> fetch_without_session(const BrokerServices& services, const RequestContext& context,
                                     const FetchTerms& terms, const kafka::FetchRequest& request) {
  const auto memory =
      services.memory.try_reserve(MemoryAccount::parked_fetches, sizeof(FetchTarget) * count_partitions(request));
  if (!memory) co_return refuse(context, ErrorCode::out_of_memory_budget);
  Turns turns(services, context);
  std::vector<FetchTarget> targets = co_await targets_of(services, context, terms, request, turns);
  FetchSources sources = take_sources(services, context, terms, targets.size());
  const uint64_t found = co_await read_targets(services, terms, sources, targets, turns);
  if (!targets.empty() && should_wait(terms, targets, found, services.clock.now())) {
    sources = {};
    co_await park(services, context, terms, targets, terms.min_bytes - found);
    sources = take_sources(services, context, terms, targets.size());
    co_await read_targets(services, terms, sources, targets, turns);
  }
  co_await prepare_records(services, sources, targets);
  std::vector<FetchTarget*> told;
  told.reserve(targets.size());
  for (FetchTarget& target : targets) told.push_back(&target);
  co_return co_await build_fetch_response(services, context, terms, std::move(sources), FetchSession::kNoSession, told,
                                          turns);
}

// ---- in a session

Task<void> park_in_session(const BrokerServices& services, const RequestContext& context, const FetchTerms& terms,
                           LiveFetchSession& session, uint64_t bytes_missing) {
  const auto wakeup = std::make_shared<Wakeup>();
  const auto timer = services.scheduler.start_timer(terms.deadline, [wakeup] { wakeup->wake(); });
  {
    const CancelCallback client_gone(context.connection->gone(), [wakeup] { wakeup->wake(); });
    session.news().park(wakeup, bytes_missing);
    co_await wakeup->event();
  }
  session.news().unpark();
  context.times.skip_wait(services.clock.now());
  services.scheduler.cancel_timer(timer);
}

// Reads what is due, as often as there is news, until it is enough or the time is over.
Task<Response> fetch_due(const BrokerServices& services, const RequestContext& context, const FetchTerms& terms,
                         LiveFetchSession& session, Turns& turns) {
  std::vector<FetchTarget> targets;
  FetchSources sources;
  for (;;) {
    targets = co_await session.due_targets(services, context, terms, turns);
    services.fetch_sessions.looked_at(targets.size());
    sources = take_sources(services, context, terms, targets.size());
    const uint64_t found = co_await read_targets(services, terms, sources, targets, turns);
    if (context.connection->gone().cancelled()) break;
    if (!should_wait(terms, targets, found, services.clock.now())) break;
    if (terms.replica && session.has_other_start(targets)) break;
    targets = {};  // a parked fetch holds no more than it has to
    sources = {};
    co_await park_in_session(services, context, terms, session, terms.min_bytes - found);
  }
  co_await prepare_records(services, sources, targets);
  const std::vector<FetchTarget*> told = session.commit(targets, services.clock.now());
  co_return co_await build_fetch_response(services, context, terms, std::move(sources), session.id(), told, turns);
}

// Leaves the session at the end of the scope.
class Inside {
 public:
  explicit Inside(LiveFetchSession& session) : session_(session) {}
  ~Inside() { session_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  LiveFetchSession& session_;
};

// Not inlined: its frame would be part of the one of every fetch, also of those without a session.
[[gnu::noinline]] Task<Response> fetch_in_session(const BrokerServices& services, const RequestContext& context,
                                                  FetchTerms terms, kafka::FetchRequest request,
                                                  std::shared_ptr<LiveFetchSession> session, bool is_new) {
  if (!co_await session->enter()) co_return refuse(context, ErrorCode::fetch_session_id_not_found);
  const Inside inside(*session);
  if (!is_new) {
    const ErrorCode refused = session->core().accept(request.session_epoch, terms.by_topic_id);
    if (refused != ErrorCode::none) co_return refuse(context, refused);
  }
  Turns turns(services, context);
  co_await session->update(request, turns);
  if (session->core().empty()) {
    services.fetch_sessions.drop(*session);
    co_return encode_reply(context, kafka::FetchResponse());
  }
  if (!session->pay(services.memory)) {
    services.fetch_sessions.drop(*session);
    if (!is_new) co_return refuse(context, ErrorCode::fetch_session_id_not_found);
    co_return co_await fetch_without_session(services, context, terms, request);
  }
  services.fetch_sessions.used(*session, session->core().partitions());
  if (terms.replica) {
    terms.followed_at = session->answered_at();
    session->news().is_followed_by(terms.replica->id, terms.followed_at);
  }
  request = {};  // the session knows what was in it, and pays for it
  context.memory.release();
  co_return co_await fetch_due(services, context, terms, *session, turns);
}

}  // namespace

Task<Response> handle_fetch(const BrokerServices& services, const RequestContext& context, kafka::WireReader& reader) {
  kafka::FetchRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  FetchTerms terms = terms_of(services, context, request);
  if (terms.replica) {
    terms.replica->standing = standing_of(*services.metadata.current(), services.config.node_id, *terms.replica);
    if (terms.replica->standing == ReplicaStanding::stranger) {
      co_return close_connection("a fetch in the name of a broker that is not registered");
    }
    if (may_fetch(services.authorizer, context.caller, terms, {})) context.quota.exempt();
  }
  Connection& connection = *context.connection;
  auto session = std::static_pointer_cast<LiveFetchSession>(connection.attachment());
  const bool is_final = request.session_epoch == FetchSession::kFinalEpoch;
  const bool is_new = request.session_epoch == FetchSession::kInitialEpoch;
  if (is_new || is_final) {
    // A connection has one session at most: a new one takes the place of the old.
    if (session && (is_new || session->id() == request.session_id)) connection.attach(nullptr);
    session = nullptr;
    const size_t partitions = count_partitions(request);
    if (is_new && partitions > 0) {
      session = services.fetch_sessions.create(terms.by_topic_id, partitions, services.next_watcher_id());
    }
    if (!session) co_return co_await fetch_without_session(services, context, terms, request);
    connection.attach(session);
  } else if (!session || session->id() != request.session_id) {
    co_return refuse(context, ErrorCode::fetch_session_id_not_found);
  }
  co_return co_await fetch_in_session(services, context, terms, std::move(request), std::move(session), is_new);
}

}  // namespace naru
