// A coordination store that fails now and then, in the ways the interface allows. For tests and the simulator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordination_store/coordination_store.h"
#include "platform/random.h"

namespace naru {

// About one in so many calls fails; 0: never.
struct StoreFaults {
  uint64_t conflict_one_in = 0;      // version_conflict, nothing happened
  uint64_t lost_request_one_in = 0;  // unavailable, nothing happened
  uint64_t lost_answer_one_in = 0;   // unavailable, and it happened
  uint64_t unavailable_reads_one_in = 0;
};

// As thread-safe as the Random. The store behind it and the Random outlive it.
class FaultInjectingStore final : public CoordinationStore {
 public:
  FaultInjectingStore(CoordinationStore& store, Random& random) : store_(store), random_(random) {}

  void set_faults(const StoreFaults& faults) { faults_ = faults; }
  uint64_t faults_injected() const { return faults_injected_; }

  Task<Result<std::optional<KeyValue>>> get(std::string key) override;
  Task<Result<std::vector<KeyValue>>> list(std::string folder) override;
  Task<Result<std::vector<KeyVersion>>> commit(Transaction transaction) override;
  std::unique_ptr<Watch> watch(std::string subject) override { return store_.watch(std::move(subject)); }
  Task<Session> session() override { return store_.session(); }
  Task<Status> close() override { return store_.close(); }

 private:
  bool strikes(uint64_t one_in);

  CoordinationStore& store_;
  Random& random_;
  StoreFaults faults_;
  uint64_t faults_injected_ = 0;
};

}  // namespace naru
