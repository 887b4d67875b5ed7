// A coordination service for a simulated world, as unpleasant as the interface allows.
//
// The service is a bystander of the world: it outlives the processes that use it and belongs to no machine. Every
// message to it and from it takes time. What it may do, and does when its faults are switched on: answer `unavailable`
// to a commit that happened, that never will, or that happens later (until the session has ended); read old contents,
// though never older than what the same session has read, written or been told of; list keys of several moments; report
// changes late and many at once.
//
// A session ends at the service when nothing was heard of its process for the timeout: because the host is cut off, or
// the process is paused or dead. The ephemeral keys go at that moment; the client calls itself suspended by its own
// clock, and learns that it has expired when it is in contact again. While the whole service is down no session ends,
// and when it is back each has a whole timeout to show up.
//
// Single-threaded; everything is drawn from the world's random numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "coordination_store/coordination_store.h"
#include "coordination_store/store_state.h"
#include "platform/seams.h"
#include "platform/simulated/simulated_world.h"

namespace naru {

class SimulatedSession;

// Rates are "about one in so many", 0: never.
struct CoordinationFaults {
  Duration delay_min = 50us;  // of each message
  Duration delay_max = 3ms;
  Duration watch_delay_max = 30ms;     // from a change until the watchers are told
  uint64_t lost_request_one_in = 0;    // unavailable, and it never happens
  uint64_t lost_answer_one_in = 0;     // unavailable, and it happened
  uint64_t late_commit_one_in = 0;     // unavailable, and it happens later
  uint64_t stale_read_one_in = 0;      // get, or one of the moments of a list
  uint64_t torn_list_one_in = 0;       // the names of one moment, the values of a later one
  uint64_t spurious_watch_one_in = 0;  // a new watch fires though nothing has changed
};

// Outlives the stores that it made; the world outlives it.
class SimulatedCoordination {
 public:
  explicit SimulatedCoordination(SimulatedWorld& world);
  ~SimulatedCoordination();
  SimulatedCoordination(const SimulatedCoordination&) = delete;
  SimulatedCoordination& operator=(const SimulatedCoordination&) = delete;

  // A new session of the process that runs on `host` now, whose seams these are. Suspended until the first contact.
  // The store is destroyed before the process is.
  std::unique_ptr<CoordinationStore> connect(Seams seams, std::string host, Duration session_timeout);

  void set_faults(const CoordinationFaults& faults) { faults_ = faults; }
  // What a cut link swallows may yet arrive when it is healed, as after a retransmission.
  void set_reachable(const std::string& host, bool reachable);
  void set_requests_arrive(const std::string& host, bool arrive);
  void set_answers_arrive(const std::string& host, bool arrive);
  void set_down(bool down);
  bool is_down() const { return down_; }
  // Ends every session of the host; its clients learn it at their next contact.
  void expire(const std::string& host);
  // Reachable, up, and free of faults; delays stay.
  void heal();

  // The truth, for checkers.
  const StoreState& state() const { return versions_.back().state; }
  // Counts every transaction and every end of a session that changed something.
  uint64_t revision() const { return versions_.back().revision; }

 private:
  friend class SimulatedSession;

  using Answer = std::variant<Status, std::optional<KeyValue>, std::vector<KeyValue>, std::vector<KeyVersion>>;
  struct Version {
    uint64_t revision = 0;
    StoreState state;
  };
  // What the service knows of a session.
  struct Record {
    SessionId id = kNoSession;
    std::string host;
    Duration timeout{};
    std::weak_ptr<SimulatedSession> client;
    SimulatedEventQueue::Owner owner = SimulatedEventQueue::kWorld;
    bool established = false;
    bool ended = false;
    MonotonicTime deadline{};  // when it ends, if nothing is heard before
    bool expiry_armed = false;
    uint64_t seen_revision = 0;     // nothing older is shown to this session
    std::set<std::string> changes;  // keys that the client has not been told of
    bool telling = false;
  };
  using Request = UniqueFunction<void(Record&)>;
  struct ParkedRequest {
    SessionId session;
    Request request;
  };

  // Called by sessions.
  Record& add_session(const std::shared_ptr<SimulatedSession>& client);
  // Delivers after `delay`, unless a link is cut then.
  void send_request(Record& record, Duration delay, Request request);
  void end_by_client(Record& record);
  bool strikes(uint64_t one_in) { return one_in > 0 && random().one_in(one_in); }
  Duration random_between(Duration from, Duration to);
  Duration message_delay() { return random_between(faults_.delay_min, faults_.delay_max); }

  // What requests do when they have arrived.
  void keep_alive(Record& record, MonotonicTime sent_at);
  void serve_get(Record& record, uint64_t request, const std::string& key);
  void serve_list(Record& record, uint64_t request, const std::string& folder);
  void serve_commit(Record& record, uint64_t request, Transaction transaction);

  void arrive(SessionId session, Request request);
  void release_parked_requests();
  void touch(Record& record);
  void arm_expiry(Record& record);
  void check_expiry(SessionId session);
  void end_session(Record& record);
  bool can_request(const Record& record) const;
  bool can_answer(const Record& record) const;
  void answer(Record& record, uint64_t request, Answer answer);
  void send_to_client(const Record& record, UniqueFunction<void(SimulatedSession&)> message);
  const StoreState& version_for_read(Record& record);
  void add_version(StoreState state, const std::vector<std::string>& changed);
  void tell_changes(SessionId session);

  SimulatedEventQueue& queue() { return world_.queue(); }
  Random& random() { return world_.random(); }

  SimulatedWorld& world_;
  CoordinationFaults faults_;
  bool down_ = false;
  std::set<std::string> requests_cut_, answers_cut_;  // hosts
  std::deque<Version> versions_;                      // the newest is the truth
  std::map<SessionId, Record> sessions_;
  std::deque<ParkedRequest> parked_;
};

}  // namespace naru
