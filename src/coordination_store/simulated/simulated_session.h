// The client of a SimulatedCoordination: what runs in the broker's process.
//
// Its timers belong to the process, so a paused or dead process sends nothing. Every request is answered, if by nothing
// else then by its own timeout, so that what is left of a dead broker can come to rest.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/one_shot.h"
#include "coordination_store/simulated/simulated_coordination.h"
#include "coordination_store/watch_registry.h"

namespace naru {

class SimulatedSession : public std::enable_shared_from_this<SimulatedSession> {
 public:
  SimulatedSession(SimulatedCoordination& service, SimulatedNode& node, Seams seams, Duration timeout);

  void start();
  Task<Result<std::optional<KeyValue>>> get(std::string key);
  Task<Result<std::vector<KeyValue>>> list(std::string folder);
  Task<Result<std::vector<KeyVersion>>> commit(Transaction transaction);
  std::unique_ptr<Watch> watch(std::string subject);
  Session session();
  void close();

  // Messages of the service.
  void on_contact(MonotonicTime sent_at);
  void on_expired();
  void on_answer(uint64_t request, SimulatedCoordination::Answer answer);
  void on_changes(const std::vector<std::string>& keys) { watches_.keys_changed(keys); }

  // Whether the process that made it still runs.
  bool is_alive() const;
  const std::string& host() const { return node_.host(); }
  Duration timeout() const { return timeout_; }
  SimulatedEventQueue::Owner owner() const { return owner_; }

 private:
  using Answer = SimulatedCoordination::Answer;
  struct Pending {
    OneShot<Answer>* answer;
    Scheduler::TimerId timer;
  };
  // How a request meets its fate, drawn when it is sent.
  struct Fate {
    bool arrives = true;
    bool answer_is_lost = false;
    Duration arrives_after{};
    Duration gives_up_after{};
  };
  using Serve = UniqueFunction<void(SimulatedCoordination::Record&, uint64_t request)>;

  Task<Answer> ask(Serve serve, bool is_commit);
  Fate draw_fate(bool is_commit);
  void begin(OneShot<Answer>& answer, Serve serve, const Fate& fate);
  void give_up(uint64_t request);
  void tick();
  void send_keep_alive();
  void check_contact();
  void change_state(SessionState state);
  MonotonicTime now() const { return seams_.clock.now(); }

  SimulatedCoordination& service_;
  SimulatedNode& node_;
  const Seams seams_;
  const Duration timeout_;
  const SimulatedEventQueue::Owner owner_;
  SimulatedCoordination::Record* record_ = nullptr;
  WatchRegistry watches_;
  SessionState state_ = SessionState::suspended;
  MonotonicTime last_contact_;  // when the newest message was sent that the service has answered
  bool closed_ = false;
  uint64_t next_request_ = 1;
  std::map<uint64_t, Pending> pending_;
};

}  // namespace naru
