// Brings the markers of transactions to the leaders of their partitions, and does not rest before all are written.
//
// One request at a time goes to each broker, with everything that has come up for it meanwhile: markers of many
// transactions travel together. What a leader does not take, because it is none any more or not yet, is brought to
// whoever leads next. Partitions that take their time, because they wait for a follower, say, go apart from the others,
// so that those do not wait for them.
//
// A marker must not be sent any more when its transaction is over. So each transactional id has one order at most, and
// whether the coordinator that has given it is still in office is looked up in the same metadata that name the leader
// and its epoch: whoever takes a marker in that epoch has not seen anything of a later coordinator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "broker/marker_writer.h"
#include "broker/peers.h"
#include "cluster_control/metadata_publisher.h"
#include "foundation/function.h"
#include "platform/seams.h"
#include "transactions/transaction_messages.h"

namespace naru {

// Whether a coordinator is in office, as far as an image of the metadata says.
enum class InOffice : uint8_t {
  yes,
  unclear,  // the image is older than its term, or names nobody
  no,       // and never again in this term
};

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
    UniqueFunction<InOffice(const MetadataImage&)> in_office;  // whether who has ordered it is; takes no lock of ours
    UniqueFunction<void()> all_written;  // once, unless it was not in office any more, or a new order or stop() came
  };
  // Takes the place of what was ordered before for the same transactional id. Not called inside of a callback.
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
    int attempts = 0;  // in vain
  };
  using Pieces = std::vector<Piece>;
  struct LaneId {
    BrokerId to;
    bool slow = false;
    auto operator<=>(const LaneId&) const = default;
  };
  struct Lane {
    Pieces waiting;
    bool busy = false;
  };
  // What to do next in a lane.
  struct Turn {
    Pieces pieces;     // to be sent as this image says
    Pieces elsewhere;  // to be routed again
    bool is_last = false;
  };

  static const TopicPartitionName& name_of(const Piece& piece);
  static const PartitionState* find_partition(const Piece& piece, const MetadataImage& image);
  static MarkerToWrite marker_of(const Piece& piece, const MetadataImage& image);

  // With the mutex held. no: the order has ended.
  InOffice look_at_orderer(Order& order, const MetadataImage& image);
  void end(Order& order);
  void try_later(Pieces pieces);

  void route(Pieces pieces);
  Task<void> route_later(Pieces pieces, Duration delay);
  void deliver(const Piece& piece);
  Task<void> run_lane(LaneId lane);
  Turn take_turn(const LaneId& lane, const MetadataImage& image);
  void settle(Pieces pieces, const std::vector<Status>& written);
  bool count_as_written(const Piece& piece, const Status& refused);
  Task<std::vector<Status>> write(LaneId lane, const Pieces& pieces, MetadataImagePtr image);
  Task<std::vector<Status>> call(LaneId lane, const Pieces& pieces, MetadataImagePtr image);

  Parts parts_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::map<LaneId, Lane> lanes_;
  std::set<TopicPartitionName> slow_;  // those that have not answered in time when they were asked last
  std::map<std::string, std::shared_ptr<Order>> orders_;  // by transactional id
  TaskGroup tasks_;
};

}  // namespace naru
