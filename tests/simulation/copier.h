// Copies records from one topic to the next, exactly once: reads what is committed, writes it in transactions that hold
// its own position as well, aborts now and then, dies and begins anew, sleeps for longer than a transaction may last,
// and goes on where another one has taken over.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "platform/seams.h"
#include "simulation/broker_directory.h"
#include "simulation/copy_history.h"
#include "simulation/transactional_client.h"

namespace naru::simulation {

// What all copiers of a run share.
struct CopyContext {
  Seams seams;
  BrokerDirectory& brokers;
  CopyHistory& history;
  const bool& stopping;
  std::set<std::string>& committing;  // names of stages that wait for the answer
  int partitions = 1;                 // of each topic
  Duration pause = 100ms;
};

struct CopyStage {
  std::string from;
  std::string to;
  std::string name() const { return from + "-to-" + to; }  // of the group and of the transactional id
};

class Copier {
 public:
  Copier(CopyContext context, CopyStage stage) : context_(context), stage_(std::move(stage)) {}

  // Until the run stops.
  Task<void> run();
  // On healed brokers: copies what is left, to the ends of the logs. False when that takes longer; last_error() is why.
  Task<bool> finish(Duration limit);
  ErrorCode last_error() const { return last_error_; }

 private:
  enum class Next : uint8_t {
    go_on,
    wait,         // there is nothing to copy
    begin_again,  // the client finds out who it is now, and how far it has come
    die,
    be_replaced,  // somebody else takes over, and this one does not know it
  };
  struct Copies {
    std::map<PartitionName, TransactionalClient::Records> records;  // by where they go
    std::map<PartitionName, Offset> positions;                      // by where they come from
  };

  Task<void> pause(Duration longest);
  std::shared_ptr<TransactionalClient> new_client();
  Task<bool> begin(TransactionalClient& client);
  Task<void> live(std::shared_ptr<TransactionalClient> client);
  Task<Next> copy_some(std::shared_ptr<TransactionalClient> client);
  Task<bool> commit(TransactionalClient& client, uint64_t transaction);
  Task<Next> end(TransactionalClient& client, uint64_t transaction, const Copies& copies);
  Task<void> go_on_replaced(std::shared_ptr<TransactionalClient> client, uint64_t transaction, Copies copies);
  Task<Copies> read_some(uint64_t transaction);
  Task<bool> write(TransactionalClient& client, const Copies& copies);
  Task<bool> is_at_the_end();
  PartitionName source(int index) const { return {stage_.from, PartitionIndex(index)}; }
  bool is_over() const;
  bool chance(uint64_t one_in) { return !is_calm() && context_.seams.random.one_in(one_in); }
  bool is_calm() const { return deadline_.has_value(); }

  CopyContext context_;
  const CopyStage stage_;
  std::optional<MonotonicTime> deadline_;  // in the end
  std::map<PartitionName, Offset> positions_;
  ErrorCode last_error_ = ErrorCode::none;
  TaskGroup replaced_;
};

// The end of a partition for all readers, or for those of committed records alone.
Task<Result<Offset>> end_of_partition(BrokerDirectory& brokers, PartitionName partition, bool committed);

}  // namespace naru::simulation
