// What the controller thinks of each broker: whether it is there, and what it may have lost since it was last known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "cluster_control/metadata_image.h"
#include "foundation/ids.h"

namespace naru {

// What may be missing of the data of a broker that has registered again.
enum class DataLoss : uint8_t {
  nothing,     // it was shut down cleanly, or is the same process with a new session
  unsynced,    // it was not: what no acknowledgement waited for the disk for
  some,        // a data folder that it had is gone, or an older copy; which partitions were in it is not known
  everything,  // none of the data folders that it had is there
};

struct BrokerStanding {
  bool registered = false;
  bool stopping = false;  // asked for a controlled shutdown: leads and joins nothing if another can
  bool returned = false;  // this registration is new: the controller has not acted on it yet
  DataLoss loss = DataLoss::nothing;
  int64_t known_since = -1;  // the epoch of the registration in whose life, or a later one, the loss has happened

  bool operator==(const BrokerStanding&) const = default;
};

// Which brokers are shutting down, by the epoch in which they asked for it: a broker that registers again is not.
using StoppingBrokers = std::map<BrokerId, int64_t>;

// Immutable. Keeps no reference to what it was made of.
class BrokerStandings {
 public:
  BrokerStandings() = default;
  BrokerStandings(const MetadataImage& image, const StoppingBrokers& stopping);

  // Without those that have returned: nothing is decided in their favour before it is known what they have lost.
  BrokerStandings settled_only() const;

  BrokerStanding of(BrokerId id) const;
  // As a replica of this partition: a broker whose log of it is offline is as good as not there, but for what it has
  // lost. The only replica is not: nobody could take over, and its error says more than that there is no leader.
  BrokerStanding of(BrokerId id, const PartitionState& partition) const;
  // Those that are registered, by id.
  const std::map<BrokerId, BrokerStanding>& registered() const { return registered_; }

 private:
  std::map<BrokerId, BrokerStanding> registered_;
  std::map<BrokerId, std::shared_ptr<const OfflineLogs>> offline_;
};

}  // namespace naru
