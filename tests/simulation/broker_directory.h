// Where clients turn: to any broker, to the leader of a partition, to the coordinator of a group, as brokers tell it
// that may be behind.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "platform/seams.h"
#include "simulation/history.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {

struct KnownLeader {
  Endpoint address;
  LeaderEpoch epoch{-1};
};

// Shared by all clients of a run. Never goes back to an older leader epoch, as stock clients do not.
class BrokerDirectory {
 public:
  using Client = std::shared_ptr<KafkaClient>;

  BrokerDirectory(Seams seams, std::vector<Endpoint> brokers) : seams_(seams), brokers_(std::move(brokers)) {}

  // One attempt, at a random broker; nullptr when it fails.
  Task<Client> any();
  // The same with the leader. `present` is returned when it is a connection to it, and closed when not.
  Task<Client> leader(PartitionName partition, Client present);
  // With the coordinator of a group or of a transactional id; looking for it makes its topic, where there is none yet.
  enum class Coordinates : int8_t { groups = 0, transactions = 1 };  // as in FindCoordinator
  Task<Client> coordinator(std::string key, Coordinates what = Coordinates::groups);

  // What was last heard; a default one when nothing was.
  KnownLeader known_leader(const PartitionName& partition) const;
  // Something about the leader was wrong: the next one who needs it asks again.
  void forget(const PartitionName& partition);

 private:
  Task<void> ask(PartitionName partition);
  Task<Client> connect(Endpoint address);

  Seams seams_;
  const std::vector<Endpoint> brokers_;
  struct Entry {
    KnownLeader leader;
    bool fresh = false;
  };
  std::map<PartitionName, Entry> leaders_;
};

}  // namespace naru::simulation
