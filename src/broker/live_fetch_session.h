// A fetch session at work: its core, the partitions behind it, and the news of them. Belongs to its connection.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "async/one_shot.h"
#include "async/task.h"
#include "broker/broker_services.h"
#include "broker/fetch_targets.h"
#include "broker/session_news.h"
#include "fetch_sessions/fetch_session.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "network/connection.h"
#include "observability/memory_budget.h"

namespace naru {

class FetchSessions;

// Thread-safe: enter(), evict() and the destructor. Everything else between enter() and leave(), by the one who is
// inside: fetches of one session, which a client may pipeline, go one after the other.
class LiveFetchSession final : public ConnectionAttachment {
 public:
  LiveFetchSession(int32_t id, bool by_topic_id, uint64_t watcher_id, FetchSessions& sessions);
  ~LiveFetchSession() override;

  int32_t id() const { return id_; }
  FetchSession& core() { return core_; }

  // False: somebody else has the session's slot now. True: leave() has to follow.
  Task<bool> enter();
  void leave();
  // Gives up everything, now or when the one who is inside leaves.
  void evict();

  // Takes over what the request says about partitions.
  Task<void> update(const kafka::FetchRequest& request, Turns& turns);
  // False: there is no memory for that many partitions.
  bool pay(MemoryBudget& budget);

  // The partitions that are due, found and watched, ready to be read.
  Task<std::vector<FetchTarget>> due_targets(const BrokerServices& services, const RequestContext& context,
                                             const FetchTerms& terms, Turns& turns);
  SessionNews& news() { return *news_; }
  // The log of one of them begins elsewhere than the client was told before.
  bool has_other_start(const std::vector<FetchTarget>& targets) const;
  // The answer tells what has to be told of these; which is returned. It is sent at `now` or later.
  std::vector<FetchTarget*> commit(std::vector<FetchTarget>& targets, MonotonicTime now);
  // When the last answer was about to be sent. The client had all partitions of the session in it then, because its
  // next fetch, whenever that arrives, was sent later. The least time: nothing was answered yet.
  MonotonicTime answered_at() const { return answered_at_; }

 private:
  void take_news();
  void let_go(FetchSession::Slot slot);
  void give_up_everything();

  const int32_t id_;
  FetchSessions& sessions_;
  const std::shared_ptr<SessionNews> news_;

  std::mutex gate_;  // held for a few instructions
  bool inside_ = false;
  bool evicted_ = false;
  std::deque<OneShot<bool>*> waiting_;  // bounded by the requests in flight of the connection

  FetchSession core_;
  std::vector<std::shared_ptr<Partition>> partitions_;  // by slot; those that are found are watched
  MemoryLease memory_;
  MonotonicTime answered_at_ = MonotonicTime::min();
};

}  // namespace naru
