// One round: fresh brokers, some thousand requests, and the demands on what became of them. A seed repeats it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzzing/fuzz_connection.h"
#include "fuzzing/fuzz_plan.h"
#include "fuzzing/fuzz_problem.h"
#include "fuzzing/fuzz_report.h"
#include "fuzzing/fuzz_request.h"
#include "fuzzing/fuzz_world.h"

namespace naru::fuzzing {

struct RoundOptions {
  uint64_t seed = 1;
  int brokers = 1;
  uint64_t requests = 2000;
  std::set<Demand> waived;
  // In place of what the seed draws.
  std::optional<size_t> focus;
  std::optional<uint64_t> huge_one_in;
  bool roomy = false;  // always, not only now and then
  // Frames that found something once: sent before anything else, each over a connection of its own.
  std::vector<Bytes> corpus;
};

class FuzzRound {
 public:
  explicit FuzzRound(const RoundOptions& options);
  ~FuzzRound();

  // The first problem, or none.
  std::optional<std::string> run();
  const FuzzReport& report() const { return report_; }
  const FuzzPlan& plan() const { return plan_; }
  // The last requests that were sent, newest last.
  std::string recent_requests() const;

 private:
  struct Expected {
    std::shared_ptr<FuzzRequest> request;
    MonotonicTime deadline;
  };
  // A place for one connection after the other.
  struct Slot {
    simulation::SimulatedBroker* broker = nullptr;
    bool deaf = false;
    bool connecting = false;
    std::shared_ptr<FuzzConnection> connection;
    uint64_t requests_left = 0;
    std::deque<Expected> expected;
    std::set<int32_t> given_up;  // answers that may still come, and are not waited for
  };

  void send_corpus();
  void act();
  std::shared_ptr<FuzzRequest> draw_request(bool for_deaf);
  // At least one connection of that kind is free.
  Slot& choose_slot(BrokerId target, bool deaf);
  bool can_take(const Slot& slot) const;
  void send(Slot& slot, std::shared_ptr<FuzzRequest> request);
  void let_time_pass();
  void look_after(Slot& slot);
  void take_answers(Slot& slot);
  void take_answer(Slot& slot, BytesView frame);
  void give_up_first(Slot& slot);
  void check_deadline(Slot& slot);
  void check_offsets();
  void connection_closed(Slot& slot, bool by_us);
  Task<void> connect(Slot& slot);
  void wait_for_answers();
  void leave();
  ApiTally& tally(const FuzzRequest& request);

  const RoundOptions options_;
  SimulatedRandom random_;
  const FuzzPlan plan_;
  Problems problems_;
  FuzzReport report_;
  KnownWorld known_;
  FuzzWorld world_;
  std::vector<std::unique_ptr<Slot>> slots_;
  TaskGroup connects_;
  int32_t next_correlation_id_ = 1;
  bool leaving_ = false;
  std::deque<std::shared_ptr<FuzzRequest>> recent_;
  std::deque<std::shared_ptr<FuzzRequest>> large_;
};

}  // namespace naru::fuzzing
