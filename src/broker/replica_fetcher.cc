// The coroutine of a ReplicaFetcher, and what is called from outside.
#include "broker/replica_fetcher.h"

#include <algorithm>

#include "broker/peers.h"
#include "broker/replica_fetcher_entry.h"
#include "fetch_sessions/fetch_session.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr int16_t kFirstUsableVersion = 17;
// At the leader, while slow syncs are outstanding: it hears this much later what is durable here.
constexpr Milliseconds kWaitWithSlowSyncs(50);

}  // namespace

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
    out_of_sync_.erase(key);
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
    if (followed.in_sync) {
      out_of_sync_.erase(key);
    } else {
      out_of_sync_[key] = entry;
    }
    if (std::exchange(entry->leader_epoch, followed.leader_epoch) != followed.leader_epoch) {
      urgent_ = true;
      if (!std::exchange(entry->in_news, true)) news_.push_back(entry);
    }
  }
  if (has_news()) {
    wake(std::move(lock));
  } else {
    lock.unlock();
  }
  for (const EntryPtr& entry : added) entry->partition->observe_following(entry);
}

void ReplicaFetcher::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  urgent_ = true;
  wake(std::move(lock));
  stop_source_.cancel();
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
  // Nobody wants an answer after the end.
  const auto cut_off = stopped_ || (waits_at_leader_ && urgent_) ? connection_ : nullptr;
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
    ignore(co_await sleep_until(parts_.seams.scheduler, parts_.seams.clock.now() + pause, stop_source_.token()));
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
  options.software_name = kPeerSoftware;
  auto opened =
      co_await client::BrokerConnection::open(parts_.seams, leader_.address, std::move(options), stop_source_.token());
  if (!opened) co_return std::move(opened).error();
  const std::scoped_lock lock(mutex_);
  connection_ = std::move(*opened);
  leader_tells_producers_ = true;
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
    entry->question = 0;
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

// The leader may have been told before it heard that the controller had taken this broker out, because of its earlier
// life. An idle partition has no news, so it says the same again. One that was refused is told again anyway.
void ReplicaFetcher::remind_of_those_out_of_sync() {
  const MonotonicTime now = parts_.seams.clock.now();
  if (now < next_reminder_) return;
  next_reminder_ = now + kReminderInterval;
  std::vector<EntryPtr> out_of_sync;
  {
    const std::scoped_lock lock(mutex_);
    out_of_sync.reserve(out_of_sync_.size());
    for (const auto& [key, entry] : out_of_sync_) out_of_sync.push_back(entry);
  }
  for (const EntryPtr& entry : out_of_sync) {
    if (entry->reported != ErrorCode::none) continue;
    entry->says_it_again = true;
    make_dirty(entry);
  }
}

Task<Status> ReplicaFetcher::fetch_once() {
  take_news();
  begin_session_of_this_life();
  remind_of_those_out_of_sync();
  kafka::FetchRequest request;
  bool has_news = co_await fill_request(request);
  if (!lacking_.empty()) {
    if (Status status = co_await bring_producers(); !status.ok()) co_return status;
    has_news |= co_await fill_request(request);
  }
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
    if (has_news()) co_return true;
    sleeper_ = sleeper;
  }
  const auto timer =
      parts_.seams.scheduler.start_timer(parts_.seams.clock.now() + longest, [sleeper] { sleeper->wake(); });
  co_await sleeper->event();
  parts_.seams.scheduler.cancel_timer(timer);
  const std::scoped_lock lock(mutex_);
  sleeper_.reset();
  co_return has_news();
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

int64_t ReplicaFetcher::max_lag() {
  const std::scoped_lock lock(mutex_);
  int64_t lag = 0;
  for (const auto& [key, entry] : wanted_) lag = std::max(lag, entry->lag.load(std::memory_order_relaxed));
  return lag;
}

}  // namespace naru
