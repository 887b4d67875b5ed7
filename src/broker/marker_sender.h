// Brings the markers of transactions to the leaders of their partitions, and does not rest before all are written.
//
// One request at a time goes to each broker, with everything that has come up for it meanwhile: markers of many
// transactions travel together. What a leader does not take, because it is none any more or not yet, is brought to
// whoever leads next.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "broker/marker_writer.h"
#include "broker/peers.h"
#include "cluster_control/metadata_publisher.h"
#include "foundation/function.h"
#include "platform/seams.h"
#include "transactions/transaction_messages.h"

namespace naru {

// Thread-safe. Everything it is made of outlives it.
class MarkerSender {
 public:
  struct Parts {
    Seams seams;
    BrokerId self;
    const MetadataPublisher& metadata;
    Peers& peers;
    MarkerWriter& writer;
  };
  explicit MarkerSender(Parts parts) : parts_(parts) {}

  struct Callbacks {
    UniqueFunction<bool()> is_wanted;    // false: the coordinator that ordered it is none any more
    UniqueFunction<void()> all_written;  // called once, unless it was not wanted any more or stop() came first
  };
  void send(MarkersWanted wanted, Callbacks callbacks);
  // How many transactions wait for markers.
  size_t waiting() const;

  // What waits stays unwritten: the next coordinator sends it again.
  Task<void> stop();

 private:
  struct Order;
  // A partition of an order.
  struct Piece {
    std::shared_ptr<Order> order;
    size_t partition;
  };
  struct Lane {
    std::vector<Piece> waiting;
    bool busy = false;
  };

  void route(std::vector<Piece> pieces);
  void deliver(const Piece& piece);
  void give_up(const Piece& piece);
  Task<void> run_lane(BrokerId to);
  std::vector<Piece> take(BrokerId to);
  Task<std::vector<Status>> write(BrokerId to, const std::vector<Piece>& pieces);
  Task<std::vector<Status>> call(BrokerId to, const std::vector<Piece>& pieces);
  Task<void> route_later(std::vector<Piece> pieces);
  MarkerToWrite marker_of(const Piece& piece, const MetadataImage& image) const;

  Parts parts_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::map<BrokerId, Lane> lanes_;
  size_t orders_ = 0;
  TaskGroup tasks_;
};

}  // namespace naru
