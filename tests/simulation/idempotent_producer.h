// A producer with an id and sequence numbers, which sends a batch again and again until it knows that it is stored, as
// stock clients do: same bytes, in order, several in flight; sometimes over two connections at once, which they never
// do.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/task.h"
#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "platform/seams.h"
#include "simulation/broker_directory.h"
#include "simulation/fault_plan.h"
#include "simulation/history.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {

// What all producers of a run share.
struct IdempotenceContext {
  Seams seams;
  BrokerDirectory& brokers;
  const RunPlan& plan;
  History& history;
  std::vector<PartitionName> partitions;
  const bool& stopping;
  const uint64_t& power_cuts;
  std::set<ProducerId>& ids_given;
  size_t& repeats;  // batches that were sent again
  UniqueFunction<void(std::string)>& failed;
};

class IdempotentProducer {
 public:
  // `number` is what the history knows it by.
  IdempotentProducer(IdempotenceContext context, int number) : context_(std::move(context)), number_(number) {}

  // Until the run stops.
  Task<void> run();

 private:
  using Client = std::shared_ptr<KafkaClient>;
  struct Batch {
    std::vector<std::string> values;
    Bytes bytes;
    bool sent = false;
    bool stored = false;
    ErrorCode error = ErrorCode::none;  // of its newest answer
  };
  using Window = std::vector<Batch>;

  Task<void> pause(Duration longest);
  Task<Client> connect();
  Task<Client> connect_to_leader(const PartitionName& partition);
  Task<void> get_id();
  Window next_window(const PartitionName& partition);
  // Until every batch is stored; false when the run stops or the producer has to begin anew.
  Task<bool> deliver(const PartitionName& partition, Window& window);
  Task<void> attempt(const PartitionName& partition, Window& window);
  Task<void> send(Client client, const PartitionName& partition, Batch& batch);
  // With the loose rule a power cut may take back what came before, and with it the sequence.
  bool sequences_may_be_lost() const;
  // Whether its error is one after which the same batch can be sent again.
  bool may_go_on(const PartitionName& partition, const Window& window);

  IdempotenceContext context_;
  const int number_;
  uint64_t next_value_ = 0;
  std::optional<ProducerId> id_;
  uint64_t cuts_before_id_ = 0;
  std::map<PartitionName, int32_t> next_sequence_;  // of this id
};

}  // namespace naru::simulation
