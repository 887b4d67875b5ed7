#include "broker/replica_fetcher.h"

#include <algorithm>
#include <atomic>

#include "fetch_sessions/fetch_session.h"
#include "foundation/log.h"
#include "replication/partition_following.h"

namespace naru {
namespace {

constexpr int16_t kFirstUsableVersion = 17;
// For an answer, beyond the wait that was asked for.
constexpr Duration kAnswerPatience = 30s;
// After the first failure; then twice as long each time, up to replica.fetch.backoff.ms.
constexpr Duration kFirstPause = 20ms;
// At the leader, while slow syncs are outstanding: it hears this much later what is durable here.
constexpr Milliseconds kWaitWithSlowSyncs(50);

}  // namespace

// One partition. Told by it, inside its strand, when more of it is durable.
class ReplicaFetcher::Entry final : public FlushObserver, public std::enable_shared_from_this<Entry> {
 public:
  Entry(std::weak_ptr<ReplicaFetcher> fetcher, std::shared_ptr<Partition> followed)
      : partition(std::move(followed)), fetcher_(std::move(fetcher)) {}

  void flushed() override {
    if (const auto fetcher = fetcher_.lock()) fetcher->add_news(shared_from_this());
  }
  Key key() const { return key_of(*partition); }
  bool waits_for_sync() const { return sent.flush_counts && sent.flushed_end < sent.offset; }

  const std::shared_ptr<Partition> partition;
  LeaderEpoch leader_epoch{-1};  // guarded by the fetcher's mutex
  bool in_news = false;          // likewise
  std::atomic<int64_t> lag{0};

  // Of the coroutine.
  bool is_dirty = false;
  bool in_session = false;
  bool in_syncing = false;
  FollowerPosition sent;
  Offset leaders_high_watermark{0};
  MonotonicTime not_before;
  Duration pause = kFirstPause;
  ErrorCode reported = ErrorCode::none;

 private:
  const std::weak_ptr<ReplicaFetcher> fetcher_;
};

ReplicaFetcher::ReplicaFetcher(const ReplicaFetcherParts& parts, Leader leader, TaskGroup& tasks)
    : parts_(parts), leader_(std::move(leader)), tasks_(tasks) {}

ReplicaFetcher::~ReplicaFetcher() = default;

void ReplicaFetcher::start() {
  tasks_.spawn(run(shared_from_this()));
}

// --- From outside ----------------------------------------------------------------------------------------------------

void ReplicaFetcher::change_partitions(const FollowChanges& changes) {
  std::vector<EntryPtr> added;
  std::unique_lock lock(mutex_);
  for (const Key& key : changes.dropped) {
    wanted_.erase(key);
    wanted_changes_.push_back(key);
  }
  for (const FollowedPartition& followed : changes.changed) {
    const Key key = key_of(*followed.partition);
    EntryPtr& entry = wanted_[key];
    if (!entry || entry->partition != followed.partition) {
      entry = std::make_shared<Entry>(weak_from_this(), followed.partition);
      added.push_back(entry);
      wanted_changes_.push_back(key);
    }
    if (std::exchange(entry->leader_epoch, followed.leader_epoch) != followed.leader_epoch) {
      urgent_ = true;
      if (!std::exchange(entry->in_news, true)) news_.push_back(entry);
    }
  }
  wake(std::move(lock));
  for (const EntryPtr& entry : added) entry->partition->observe_flushes(entry);
}

void ReplicaFetcher::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  urgent_ = true;
  wake(std::move(lock));
}

void ReplicaFetcher::add_news(EntryPtr entry) {
  std::unique_lock lock(mutex_);
  if (std::exchange(entry->in_news, true)) return;
  news_.push_back(std::move(entry));
  wake(std::move(lock));
}

void ReplicaFetcher::wake(std::unique_lock<std::mutex> lock) {
  const std::shared_ptr<Wakeup> sleeper = sleeper_;
  // A fetch that waits at the leader cannot be called back, and the next one would stand in line behind it.
  const auto cut_off = waits_at_leader_ && urgent_ ? connection_ : nullptr;
  if (cut_off) waits_at_leader_ = false;
  lock.unlock();
  if (sleeper) sleeper->wake();
  if (cut_off) tasks_.spawn(cut(cut_off));
}

Task<void> ReplicaFetcher::cut(std::shared_ptr<client::BrokerConnection> connection) {
  co_await connection->to_its_loop();
  connection->close();
}

// --- The coroutine ---------------------------------------------------------------------------------------------------

Task<void> ReplicaFetcher::run([[maybe_unused]] Self self) {
  co_await to_loop(parts_.seams.scheduler);
  Duration pause = kFirstPause;
  bool reported = false;
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      if (stopped_) break;
    }
    Status status = co_await connect();
    if (status.ok()) status = co_await fetch_once();
    if (status.ok()) {
      pause = kFirstPause;
      reported = false;
      continue;
    }
    bool was_cut = false;
    {
      const std::scoped_lock lock(mutex_);
      was_cut = std::exchange(urgent_, stopped_);  // by ourselves
    }
    co_await disconnect();
    if (was_cut) continue;
    parts_.failures.add();
    if (!std::exchange(reported, true)) {
      log_warn("replication", "cannot fetch from leader {}: {}", leader_.id, status.to_string());
    }
    ignore(co_await sleep_until(parts_.seams.scheduler, parts_.seams.clock.now() + pause, tasks_.token()));
    pause = std::min<Duration>(2 * pause, std::max<Duration>(parts_.config.fetch_backoff, kFirstPause));
  }
  co_await disconnect();
}

Task<Status> ReplicaFetcher::connect() {
  {
    const std::scoped_lock lock(mutex_);
    if (connection_) co_return Status();
  }
  client::ConnectionOptions options;
  options.client_id = fmt::format("broker-{}-fetcher", parts_.self);
  auto opened = co_await client::BrokerConnection::open(parts_.seams, leader_.address, std::move(options));
  if (!opened) co_return std::move(opened).error();
  const std::scoped_lock lock(mutex_);
  connection_ = std::move(*opened);
  co_return Status();
}

Task<void> ReplicaFetcher::disconnect() {
  std::shared_ptr<client::BrokerConnection> connection;
  {
    const std::scoped_lock lock(mutex_);
    connection = std::exchange(connection_, nullptr);
  }
  reset_session();
  if (!connection) co_return;
  co_await connection->to_its_loop();
  connection->close();
}

void ReplicaFetcher::reset_session() {
  session_id_ = FetchSession::kNoSession;
  session_epoch_ = FetchSession::kInitialEpoch;
  for (const auto& [key, entry] : entries_) {
    leave_session(*entry);
    make_dirty(entry);
  }
  removed_.clear();
}

void ReplicaFetcher::take_news() {
  std::vector<EntryPtr> news;
  {
    const std::scoped_lock lock(mutex_);
    news = std::exchange(news_, {});
    urgent_ = stopped_;
    for (const EntryPtr& entry : news) entry->in_news = false;
    for (const Key& key : std::exchange(wanted_changes_, {})) take_wanted(key);
  }
  for (const EntryPtr& entry : news) make_dirty(entry);
}

void ReplicaFetcher::take_wanted(const Key& key) {
  const auto wanted = wanted_.find(key);
  const EntryPtr now = wanted == wanted_.end() ? nullptr : wanted->second;
  const auto found = entries_.find(key);
  const EntryPtr before = found == entries_.end() ? nullptr : found->second;
  if (now == before) return;
  if (before) {
    leave_session(*before);
    if (std::exchange(before->is_dirty, false)) std::erase(dirty_, before);
    if (std::exchange(before->in_syncing, false)) std::erase(syncing_, before);
  }
  if (now) {
    entries_.insert_or_assign(key, now);
  } else {
    entries_.erase(found);
  }
}

bool ReplicaFetcher::is_followed(const Entry& entry) const {
  const auto found = entries_.find(entry.key());
  return found != entries_.end() && found->second.get() == &entry;
}

void ReplicaFetcher::make_dirty(const EntryPtr& entry) {
  if (is_followed(*entry) && !std::exchange(entry->is_dirty, true)) dirty_.push_back(entry);
}

void ReplicaFetcher::leave_session(Entry& entry) {
  if (!std::exchange(entry.in_session, false)) return;
  --in_session_;
  removed_.push_back(entry.key());
}

// In a session the leader looks only at partitions with news. Of one that has none it would never hear that this broker
// is registered anew, and could not take it into the in-sync set.
void ReplicaFetcher::begin_session_of_this_life() {
  const int64_t broker_epoch = parts_.broker_epoch();
  if (std::exchange(broker_epoch_, broker_epoch) != broker_epoch) reset_session();
}

Task<Status> ReplicaFetcher::fetch_once() {
  take_news();
  begin_session_of_this_life();
  kafka::FetchRequest request;
  const bool has_news = co_await fill_request(request);
  std::erase_if(syncing_, [](const EntryPtr& entry) {
    entry->in_syncing = entry->waits_for_sync();
    return !entry->in_syncing;
  });
  if (syncing_.empty()) {
    syncs_are_slow_ = false;
  } else if (syncs_are_slow_ && parts_.seams.clock.now() >= sync_again_) {
    co_await stop_waiting_for_syncs();
  }
  const bool syncs = !syncing_.empty() && !syncs_are_slow_;
  const Milliseconds longest_wait = std::min(parts_.config.fetch_wait_max, until_next_try());
  if (!has_news && ((syncs && !answer_had_data_) || in_session_ == 0)) {
    if (!co_await rest(longest_wait)) co_await stop_waiting_for_syncs();
    co_return Status();
  }
  request.max_wait_ms = static_cast<int32_t>(wait_at_leader(longest_wait).count());
  if (!begin_wait(request)) request.max_wait_ms = 0;
  std::shared_ptr<client::BrokerConnection> connection;
  {
    const std::scoped_lock lock(mutex_);
    connection = connection_;
  }
  co_await connection->to_its_loop();
  auto answer = co_await connection->call<kafka::FetchResponse>(
      request, Milliseconds(request.max_wait_ms) + kAnswerPatience, {.min = kFirstUsableVersion});
  end_wait();
  if (!answer) co_return std::move(answer).error();
  co_return co_await take_answer(std::make_shared<const kafka::FetchResponse>(std::move(*answer)));
}

Milliseconds ReplicaFetcher::wait_at_leader(Milliseconds longest) const {
  if (syncing_.empty()) return longest;
  return syncs_are_slow_ ? std::min(longest, kWaitWithSlowSyncs) : Milliseconds(0);
}

// A sync that failed for want of space is not tried again by itself.
Task<void> ReplicaFetcher::stop_waiting_for_syncs() {
  syncs_are_slow_ = true;
  sync_again_ = parts_.seams.clock.now() + parts_.config.fetch_wait_max;
  for (const EntryPtr& entry : syncing_) {
    co_await entry->partition->sync_soon();
    make_dirty(entry);
  }
}

// Of those that rest.
Milliseconds ReplicaFetcher::until_next_try() const {
  Duration shortest = parts_.config.fetch_wait_max;
  const MonotonicTime now = parts_.seams.clock.now();
  for (const EntryPtr& entry : dirty_) shortest = std::min<Duration>(shortest, entry->not_before - now);
  return std::max(std::chrono::ceil<Milliseconds>(shortest), Milliseconds(1));
}

// True: there was news before the time was over.
Task<bool> ReplicaFetcher::rest(Duration longest) {
  const auto sleeper = std::make_shared<Wakeup>();
  {
    const std::scoped_lock lock(mutex_);
    if (!news_.empty() || urgent_) co_return true;
    sleeper_ = sleeper;
  }
  const auto timer =
      parts_.seams.scheduler.start_timer(parts_.seams.clock.now() + longest, [sleeper] { sleeper->wake(); });
  co_await sleeper->event();
  parts_.seams.scheduler.cancel_timer(timer);
  const std::scoped_lock lock(mutex_);
  sleeper_.reset();
  co_return !news_.empty() || urgent_;
}

bool ReplicaFetcher::begin_wait(kafka::FetchRequest& request) {
  const std::scoped_lock lock(mutex_);
  if (urgent_) return false;
  waits_at_leader_ = request.max_wait_ms > 0;
  return true;
}

void ReplicaFetcher::end_wait() {
  const std::scoped_lock lock(mutex_);
  waits_at_leader_ = false;
}

// --- Requests --------------------------------------------------------------------------------------------------------

// True: it says something.
Task<bool> ReplicaFetcher::fill_request(kafka::FetchRequest& request) {
  request.replica_state.replica_id = parts_.self;
  request.replica_state.replica_epoch = broker_epoch_;
  request.min_bytes = parts_.config.fetch_min_bytes;
  request.max_bytes = parts_.config.fetch_response_max_bytes;
  request.session_id = session_id_;
  request.session_epoch = session_epoch_;
  const MonotonicTime now = parts_.seams.clock.now();
  std::vector<EntryPtr> resting;
  for (const EntryPtr& entry : std::exchange(dirty_, {})) {
    entry->is_dirty = false;
    if (entry->not_before > now) {
      resting.push_back(entry);
    } else if (co_await position(entry)) {
      add(request, *entry, parts_.config.fetch_max_bytes);
      if (!std::exchange(entry->in_session, true)) ++in_session_;
    }
  }
  for (const EntryPtr& entry : resting) make_dirty(entry);
  for (const Key& key : std::exchange(removed_, {})) forget(request, key);
  co_return !request.topics.empty() || !request.forgotten_topics_data.empty();
}

// True: the leader has to be told.
Task<bool> ReplicaFetcher::position(EntryPtr entry) {
  FollowerPosition position = co_await entry->partition->follower_position();
  if (!position.status.ok() || position.leader != leader_.id) {
    // Not any more, or not yet: whoever decides tells us.
    leave_session(*entry);
    entry->sent = {};
    co_return false;
  }
  const FollowerPosition before = std::exchange(entry->sent, std::move(position));
  const FollowerPosition& now = entry->sent;
  entry->lag.store(std::max<int64_t>(entry->leaders_high_watermark - now.offset, 0), std::memory_order_relaxed);
  if (entry->waits_for_sync() && !std::exchange(entry->in_syncing, true)) syncing_.push_back(entry);
  const bool same = entry->in_session && now.leader_epoch == before.leader_epoch && now.offset == before.offset &&
                    now.last_fetched_epoch == before.last_fetched_epoch && now.flushed_end == before.flushed_end &&
                    now.log_start == before.log_start;
  co_return !same;
}

void ReplicaFetcher::add(kafka::FetchRequest& request, const Entry& entry, int32_t max_bytes) {
  const auto [topic_id, index] = entry.key();
  if (request.topics.empty() || request.topics.back().topic_id != topic_id) {
    request.topics.emplace_back().topic_id = topic_id;
  }
  auto& wanted = request.topics.back().partitions.emplace_back();
  wanted.partition = index;
  wanted.current_leader_epoch = entry.sent.leader_epoch;
  wanted.fetch_offset = entry.sent.offset;
  wanted.last_fetched_epoch = entry.sent.last_fetched_epoch;
  wanted.log_start_offset = entry.sent.log_start;
  wanted.partition_max_bytes = max_bytes;
  wanted.flushed_offset = entry.sent.flushed_end;
}

void ReplicaFetcher::forget(kafka::FetchRequest& request, const Key& key) {
  auto& forgotten = request.forgotten_topics_data;
  if (forgotten.empty() || forgotten.back().topic_id != key.first) forgotten.emplace_back().topic_id = key.first;
  forgotten.back().partitions.push_back(key.second);
}

// --- Answers ---------------------------------------------------------------------------------------------------------

Task<Status> ReplicaFetcher::take_answer(std::shared_ptr<const kafka::FetchResponse> response) {
  const ErrorCode code = response->error_code;
  if (code == ErrorCode::fetch_session_id_not_found || code == ErrorCode::invalid_fetch_session_epoch) {
    reset_session();
    co_return Status();
  }
  if (code != ErrorCode::none) co_return Status(code, "the leader refuses the fetch");
  session_id_ = response->session_id;
  session_epoch_ =
      session_id_ == FetchSession::kNoSession ? FetchSession::kInitialEpoch : FetchSession::epoch_after(session_epoch_);
  answer_had_data_ = false;
  for (const auto& topic : response->responses) {
    for (const auto& partition : topic.partitions) {
      const auto found = entries_.find({topic.topic_id, partition.partition_index});
      if (found == entries_.end()) continue;
      const BytesView bytes = partition.records.bytes();
      answer_had_data_ |= !bytes.empty();
      parts_.fetched_bytes.add(bytes.size());
      co_await apply(found->second, partition, SharedBytes(response, bytes));
    }
  }
  // A leader that has no session for us wants to hear everything each time.
  if (session_id_ == FetchSession::kNoSession) reset_session();
  co_return Status();
}

Task<void> ReplicaFetcher::apply(EntryPtr entry, const kafka::FetchResponse::PartitionData& answer,
                                 SharedBytes records) {
  using Action = FollowerDecision::Action;
  const bool had_records = !records.empty();
  const LeaderAnswer told{.leader = leader_.id,
                          .leader_epoch = entry->sent.leader_epoch,
                          .fetch_offset = entry->sent.offset,
                          .last_fetched_epoch = entry->sent.last_fetched_epoch,
                          .error = answer.error_code,
                          .high_watermark = answer.high_watermark,
                          .log_start = answer.log_start_offset,
                          .diverging = {answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset}};
  const FollowerStep step = co_await follow_leader(entry->partition, parts_.seams.scheduler, told, std::move(records));
  if (step.action == Action::wait) {
    retry_later(*entry, step.problem);
  } else {
    entry->pause = kFirstPause;
    entry->reported = ErrorCode::none;
    if (answer.error_code == ErrorCode::none) entry->leaders_high_watermark = answer.high_watermark;
    const bool start_moved = step.move_start_to >= Offset(0);
    if (step.action == Action::append && !had_records && !start_moved) co_return;  // nothing to tell
  }
  make_dirty(entry);
}

// The leader is new and does not know yet, or is none any more; or it cannot be stored here. In the session it would be
// told again and again.
void ReplicaFetcher::retry_later(Entry& entry, const Status& problem) {
  entry.not_before = parts_.seams.clock.now() + entry.pause;
  entry.pause = std::min<Duration>(2 * entry.pause, std::max<Duration>(parts_.config.fetch_backoff, kFirstPause));
  leave_session(entry);
  parts_.failures.add();
  if (std::exchange(entry.reported, problem.code()) == problem.code()) return;
  log_info("replication", "{}: cannot follow leader {} now: {}", entry.partition->identity().to_string(), leader_.id,
           problem.to_string());
}

int64_t ReplicaFetcher::max_lag() {
  const std::scoped_lock lock(mutex_);
  int64_t lag = 0;
  for (const auto& [key, entry] : wanted_) lag = std::max(lag, entry->lag.load(std::memory_order_relaxed));
  return lag;
}

}  // namespace naru
