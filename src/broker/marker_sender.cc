#include "broker/marker_sender.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "foundation/assert.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/write_txn_markers_request.h"
#include "kafka_protocol/messages/write_txn_markers_response.h"

namespace naru {
namespace {

// A leader answers within a second or so (marker_writer.cc).
constexpr Duration kMarkersTimeout = 3s;
// Until a partition is looked at again whose leader did not take its marker: twice as long each time.
constexpr Duration kFirstMarkerPause = 50ms;
constexpr Duration kLongestMarkerPause = 1s;
constexpr int kMostDoublings = 5;
// Markers in one request: a broker that was away for long is not answered with one that takes it minutes.
constexpr size_t kPiecesPerRequest = 10'000;
constexpr size_t kMostSlowPartitions = 10'000;

Duration pause_after(int attempts) {
  return std::min(kFirstMarkerPause * (1 << std::min(attempts, kMostDoublings)), kLongestMarkerPause);
}

kafka::WriteTxnMarkersRequest::WritableTxnMarker head_of(const MarkerRequest& request) {
  kafka::WriteTxnMarkersRequest::WritableTxnMarker head;
  head.producer_id = request.producer.id;
  head.producer_epoch = request.producer.epoch;
  head.transaction_result = request.marker.result == TransactionResult::commit;
  head.coordinator_epoch = request.marker.coordinator_epoch;
  head.transaction_version = static_cast<int8_t>(request.transaction_version);
  head.transaction_number = request.number.value();
  return head;
}

// The answer has the order of the request.
std::vector<Status> results_of(const kafka::WriteTxnMarkersResponse& response) {
  std::vector<Status> written;
  for (const auto& marker : response.markers) {
    for (const auto& topic : marker.topics) {
      for (const auto& partition : topic.partitions) written.emplace_back(partition.error_code);
    }
  }
  return written;
}

}  // namespace

struct MarkerSender::Order {
  MarkersWanted wanted;
  Callbacks callbacks;
  // Guarded by the sender's mutex.
  size_t left;  // partitions
  bool over = false;
};

// --- Orders ----------------------------------------------------------------------------------------------------------

void MarkerSender::send(MarkersWanted wanted, Callbacks callbacks) {
  const size_t count = wanted.partitions.size();
  NARU_ASSERT(count > 0, "markers for no partition");
  const auto order = std::make_shared<Order>(Order{std::move(wanted), std::move(callbacks), count});
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) return;
    auto& current = orders_[order->wanted.transactional_id];
    // What an earlier term has committed may be told late.
    const auto term_of = [](const Order& of) { return of.wanted.coordinator.leader_epoch; };
    if (current && term_of(*current) > term_of(*order)) return;
    if (current) current->over = true;
    current = order;
  }
  Pieces pieces;
  for (size_t i = 0; i < count; ++i) pieces.push_back({order, i});
  route(std::move(pieces));
}

size_t MarkerSender::waiting() const {
  const std::scoped_lock lock(mutex_);
  return orders_.size();
}

void MarkerSender::end(Order& order) {
  if (std::exchange(order.over, true)) return;
  orders_.erase(order.wanted.transactional_id);  // this one: a newer one would have ended it
}

InOffice MarkerSender::look_at_orderer(Order& order, const MetadataImage& image) {
  const InOffice in_office = order.callbacks.in_office(image);
  if (in_office == InOffice::no) end(order);
  return in_office;
}

void MarkerSender::deliver(const Piece& piece) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_ || piece.order->over || --piece.order->left > 0) return;
    end(*piece.order);
  }
  piece.order->callbacks.all_written();
}

// --- Where each marker goes ------------------------------------------------------------------------------------------

const TopicPartitionName& MarkerSender::name_of(const Piece& piece) {
  return piece.order->wanted.partitions[piece.partition];
}

const PartitionState* MarkerSender::find_partition(const Piece& piece, const MetadataImage& image) {
  const auto& [topic_name, index] = name_of(piece);
  const TopicMetadata* topic = image.find_topic(topic_name);
  return topic != nullptr ? topic->partition(index) : nullptr;
}

void MarkerSender::route(Pieces pieces) {
  const MetadataImagePtr image = parts_.metadata.current();
  Pieces gone;
  Pieces later;
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) return;
    for (Piece& piece : pieces) {
      if (piece.order->over) continue;
      const InOffice in_office = look_at_orderer(*piece.order, *image);
      if (in_office == InOffice::no) continue;
      const PartitionState* partition = find_partition(piece, *image);
      if (in_office == InOffice::unclear) {
        later.push_back(std::move(piece));  // and that it is missing means nothing
      } else if (partition == nullptr) {
        slow_.erase(name_of(piece));
        gone.push_back(std::move(piece));
      } else if (partition->leader == kNoBroker) {
        later.push_back(std::move(piece));
      } else {
        const LaneId id{partition->leader, slow_.contains(name_of(piece))};
        Lane& lane = lanes_[id];
        lane.waiting.push_back(std::move(piece));
        if (!std::exchange(lane.busy, true)) tasks_.spawn(run_lane(id));
      }
    }
    try_later(std::move(later));
  }
  // A topic that was deleted has nobody who could read what the transaction wrote to it.
  for (const Piece& piece : gone) deliver(piece);
}

void MarkerSender::try_later(Pieces pieces) {
  std::map<Duration, Pieces> by_pause;
  for (Piece& piece : pieces) {
    const Duration pause = pause_after(piece.attempts++);
    by_pause[pause].push_back(std::move(piece));
  }
  for (auto& [pause, together] : by_pause) tasks_.spawn(route_later(std::move(together), pause));
}

Task<void> MarkerSender::route_later(Pieces pieces, Duration delay) {
  const auto when = parts_.seams.clock.now() + delay;
  const Status slept = co_await sleep_until(parts_.seams.scheduler, when, tasks_.token());
  if (slept.ok()) route(std::move(pieces));
}

// --- To one broker ---------------------------------------------------------------------------------------------------

Task<void> MarkerSender::run_lane(LaneId lane) {
  co_await to_loop(parts_.seams.scheduler);  // out of the coordinator's strand, and of the lock
  for (;;) {
    const MetadataImagePtr image = parts_.metadata.current();
    Turn turn = take_turn(lane, *image);
    if (turn.is_last) co_return;
    if (!turn.elsewhere.empty()) route(std::move(turn.elsewhere));
    if (turn.pieces.empty()) continue;
    const std::vector<Status> written = co_await write(lane, turn.pieces, image);
    settle(std::move(turn.pieces), written);
  }
}

// Everything is looked at once more: it may have waited for long behind the request before.
MarkerSender::Turn MarkerSender::take_turn(const LaneId& id, const MetadataImage& image) {
  const std::scoped_lock lock(mutex_);
  Lane& lane = lanes_[id];
  Turn turn;
  turn.is_last = stopped_ || lane.waiting.empty();
  if (turn.is_last) {
    lane.busy = false;
    return turn;
  }
  const size_t count = std::min(lane.waiting.size(), kPiecesPerRequest);
  const auto end = lane.waiting.begin() + static_cast<ptrdiff_t>(count);
  for (auto at = lane.waiting.begin(); at != end; ++at) {
    if (at->order->over) continue;
    const InOffice in_office = look_at_orderer(*at->order, image);
    if (in_office == InOffice::no) continue;
    const PartitionState* partition = find_partition(*at, image);
    const bool is_here = in_office == InOffice::yes && partition != nullptr && partition->leader == id.to;
    (is_here ? turn.pieces : turn.elsewhere).push_back(std::move(*at));
  }
  lane.waiting.erase(lane.waiting.begin(), end);
  return turn;
}

void MarkerSender::settle(Pieces pieces, const std::vector<Status>& written) {
  {
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (written[i] == ErrorCode::request_timed_out) {
        if (slow_.size() >= kMostSlowPartitions) slow_.clear();  // those that are will be found again
        slow_.insert(name_of(pieces[i]));
      } else {
        slow_.erase(name_of(pieces[i]));
      }
    }
  }
  Pieces again;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (written[i].ok() || count_as_written(pieces[i], written[i])) {
      deliver(pieces[i]);
    } else {
      again.push_back(std::move(pieces[i]));
    }
  }
  const std::scoped_lock lock(mutex_);
  if (!stopped_) try_later(std::move(again));
}

// Where a leader has seen a later epoch of the producer, nothing of the transaction is open any more. Either another
// coordinator has ended it, then this order ends, too; or something else has used the producer's id, which must not
// keep the transaction from ending everywhere else.
bool MarkerSender::count_as_written(const Piece& piece, const Status& refused) {
  const MarkersWanted& wanted = piece.order->wanted;
  const bool is_fenced = refused == ErrorCode::transaction_coordinator_fenced;
  if (!is_fenced && refused != ErrorCode::invalid_producer_epoch) return false;
  const MetadataImagePtr image = parts_.metadata.current();
  InOffice in_office = InOffice::no;
  {
    const std::scoped_lock lock(mutex_);
    if (!piece.order->over) in_office = look_at_orderer(*piece.order, *image);
  }
  if (in_office == InOffice::no) {
    log_info("transactions", "a newer coordinator takes care of the transaction of {}: {}", wanted.transactional_id,
             refused.to_string());
    return false;
  }
  if (is_fenced || in_office == InOffice::unclear) return false;
  const auto& [topic, index] = name_of(piece);
  log_error("transactions",
            "{}-{} does not take the marker of {} (producer {}, epoch {}): it has seen a later epoch of the producer, "
            "though nobody was given one. Nothing of the transaction is open there; it ends without this marker",
            topic, index, wanted.transactional_id, wanted.producer.id, wanted.producer.epoch);
  return true;
}

MarkerToWrite MarkerSender::marker_of(const Piece& piece, const MetadataImage& image) {
  const MarkersWanted& wanted = piece.order->wanted;
  const auto& [topic_name, index] = name_of(piece);
  return {.topic = topic_name,
          .partition = index,
          .request = {.producer = wanted.producer,
                      .marker = {.result = wanted.result, .coordinator_epoch = wanted.coordinator.leader_epoch.value()},
                      .transaction_version = wanted.transaction_version,
                      .number = wanted.number,
                      .leader_epoch = find_partition(piece, image)->leader_epoch}};
}

Task<std::vector<Status>> MarkerSender::write(LaneId lane, const Pieces& pieces, MetadataImagePtr image) {
  if (lane.to != parts_.self) co_return co_await call(lane, pieces, std::move(image));
  std::vector<MarkerToWrite> markers;
  for (const Piece& piece : pieces) markers.push_back(marker_of(piece, *image));
  co_return co_await parts_.writer.write(std::move(markers), tasks_.token());
}

Task<std::vector<Status>> MarkerSender::call(LaneId lane, const Pieces& pieces, MetadataImagePtr image) {
  const BrokerMetadata* broker = image->find_broker(lane.to);
  if (broker == nullptr || broker->listeners.empty()) {
    co_return std::vector<Status>(pieces.size(), Status(ErrorCode::broker_not_available));
  }
  kafka::WriteTxnMarkersRequest request;
  const Order* current = nullptr;
  for (const Piece& piece : pieces) {
    const MarkerToWrite marker = marker_of(piece, *image);
    const bool begins = std::exchange(current, piece.order.get()) != piece.order.get();
    if (begins) request.markers.push_back(head_of(marker.request));
    auto& topics = request.markers.back().topics;
    const std::string& name = name_of(piece).topic;
    if (topics.empty() || topics.back().name != name) topics.emplace_back().name = name;
    topics.back().partition_indexes.push_back(marker.partition);
    topics.back().leader_epochs.push_back(marker.request.leader_epoch);
  }
  const auto response = co_await parts_.peers.call<kafka::WriteTxnMarkersResponse>(
      {lane.to, address_for_brokers(broker->listeners)}, lane.slow ? PeerUse::slow_markers : PeerUse::markers,
      std::move(request), kMarkersTimeout);
  if (!response) co_return std::vector<Status>(pieces.size(), response.error());
  std::vector<Status> written = results_of(*response);
  if (written.size() != pieces.size()) {
    log_warn("transactions", "broker {} has answered {} markers with {} results", lane.to, pieces.size(),
             written.size());
    co_return std::vector<Status>(pieces.size(), Status(ErrorCode::network_exception));
  }
  co_return written;
}

Task<void> MarkerSender::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    for (auto& [id, lane] : lanes_) lane.waiting.clear();
  }
  tasks_.cancel();
  return tasks_.join();
}

}  // namespace naru
