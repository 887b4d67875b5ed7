#include "broker/marker_sender.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "foundation/log.h"
#include "kafka_protocol/messages/write_txn_markers_request.h"
#include "kafka_protocol/messages/write_txn_markers_response.h"

namespace naru {
namespace {

constexpr Duration kMarkersTimeout = 30s;
// Until a partition is looked at again whose leader did not take its marker.
constexpr Duration kRouteAgainAfter = 50ms;
// Markers in one request: a broker that was away for long is not answered with one that takes it minutes.
constexpr size_t kPiecesPerRequest = 10'000;

// The transaction is in the hands of somebody newer.
bool is_overtaken(const Status& status) {
  return status == ErrorCode::transaction_coordinator_fenced || status == ErrorCode::invalid_producer_epoch;
}

}  // namespace

struct MarkerSender::Order {
  MarkersWanted wanted;
  Callbacks callbacks;
  size_t left;  // partitions; guarded by the sender's mutex
  bool over = false;
};

void MarkerSender::send(MarkersWanted wanted, Callbacks callbacks) {
  const size_t count = wanted.partitions.size();
  const auto order = std::make_shared<Order>(Order{std::move(wanted), std::move(callbacks), count});
  std::vector<Piece> pieces;
  for (size_t i = 0; i < count; ++i) pieces.push_back({order, i});
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) return;
    if (count > 0) ++orders_;
  }
  if (count == 0) {
    order->callbacks.all_written();
    return;
  }
  route(std::move(pieces));
}

size_t MarkerSender::waiting() const {
  const std::scoped_lock lock(mutex_);
  return orders_;
}

// --- Where each marker goes ------------------------------------------------------------------------------------------

void MarkerSender::route(std::vector<Piece> pieces) {
  const MetadataImagePtr image = parts_.metadata.current();
  std::vector<Piece> gone;
  std::vector<Piece> unwanted;
  std::vector<Piece> leaderless;
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) return;
    for (Piece& piece : pieces) {
      if (piece.order->over) continue;
      if (!piece.order->callbacks.is_wanted()) {
        unwanted.push_back(std::move(piece));
        continue;
      }
      const auto& [topic_name, index] = piece.order->wanted.partitions[piece.partition];
      const TopicMetadata* topic = image->find_topic(topic_name);
      const auto* partition = topic != nullptr ? topic->partition(index) : nullptr;
      if (partition == nullptr) {
        gone.push_back(std::move(piece));
      } else if (partition->leader == kNoBroker) {
        leaderless.push_back(std::move(piece));
      } else {
        Lane& lane = lanes_[partition->leader];
        lane.waiting.push_back(std::move(piece));
        if (!std::exchange(lane.busy, true)) tasks_.spawn(run_lane(partition->leader));
      }
    }
    if (!leaderless.empty()) tasks_.spawn(route_later(std::move(leaderless)));
  }
  // A topic that was deleted has nobody who could read what the transaction wrote to it.
  for (const Piece& piece : gone) deliver(piece);
  for (const Piece& piece : unwanted) give_up(piece);
}

Task<void> MarkerSender::route_later(std::vector<Piece> pieces) {
  const auto when = parts_.seams.clock.now() + kRouteAgainAfter;
  const Status slept = co_await sleep_until(parts_.seams.scheduler, when, tasks_.token());
  if (slept.ok()) route(std::move(pieces));
}

void MarkerSender::deliver(const Piece& piece) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_ || piece.order->over || --piece.order->left > 0) return;
    piece.order->over = true;
    --orders_;
  }
  piece.order->callbacks.all_written();
}

void MarkerSender::give_up(const Piece& piece) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(piece.order->over, true)) return;
  --orders_;
}

// --- To one broker ---------------------------------------------------------------------------------------------------

std::vector<MarkerSender::Piece> MarkerSender::take(BrokerId to) {
  const std::scoped_lock lock(mutex_);
  Lane& lane = lanes_[to];
  std::vector<Piece> taken;
  if (stopped_ || lane.waiting.empty()) {
    lane.busy = false;
    return taken;
  }
  if (lane.waiting.size() <= kPiecesPerRequest) return std::exchange(lane.waiting, {});
  const auto end = lane.waiting.begin() + kPiecesPerRequest;
  taken.assign(std::move_iterator(lane.waiting.begin()), std::move_iterator(end));
  lane.waiting.erase(lane.waiting.begin(), end);
  return taken;
}

Task<void> MarkerSender::run_lane(BrokerId to) {
  co_await to_loop(parts_.seams.scheduler);  // out of the coordinator's strand, and of the lock
  for (;;) {
    const std::vector<Piece> pieces = take(to);
    if (pieces.empty()) co_return;
    const std::vector<Status> written = co_await write(to, pieces);
    std::vector<Piece> again;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (written[i].ok()) {
        deliver(pieces[i]);
      } else if (is_overtaken(written[i])) {
        const MarkersWanted& wanted = pieces[i].order->wanted;
        log_info("transactions", "a newer coordinator takes care of the transaction of {}: {}", wanted.transactional_id,
                 written[i].to_string());
        give_up(pieces[i]);
      } else {
        again.push_back(pieces[i]);
      }
    }
    if (again.empty()) continue;
    const std::scoped_lock lock(mutex_);
    if (!stopped_) tasks_.spawn(route_later(std::move(again)));
  }
}

MarkerToWrite MarkerSender::marker_of(const Piece& piece, const MetadataImage& image) const {
  const MarkersWanted& wanted = piece.order->wanted;
  const auto& [topic_name, index] = wanted.partitions[piece.partition];
  const TopicMetadata* topic = image.find_topic(topic_name);
  const auto* partition = topic != nullptr ? topic->partition(index) : nullptr;
  return {.topic = topic_name,
          .partition = index,
          .request = {.producer = wanted.producer,
                      .marker = {.result = wanted.result, .coordinator_epoch = wanted.coordinator.leader_epoch.value()},
                      .transaction_version = wanted.transaction_version,
                      .number = wanted.number,
                      .leader_epoch = partition != nullptr ? partition->leader_epoch : kNoLeaderEpoch}};
}

Task<std::vector<Status>> MarkerSender::write(BrokerId to, const std::vector<Piece>& pieces) {
  if (to != parts_.self) co_return co_await call(to, pieces);
  const MetadataImagePtr image = parts_.metadata.current();
  std::vector<MarkerToWrite> markers;
  for (const Piece& piece : pieces) markers.push_back(marker_of(piece, *image));
  co_return co_await parts_.writer.write(std::move(markers));
}

Task<std::vector<Status>> MarkerSender::call(BrokerId to, const std::vector<Piece>& pieces) {
  const MetadataImagePtr image = parts_.metadata.current();
  const BrokerMetadata* broker = image->find_broker(to);
  if (broker == nullptr || broker->listeners.empty()) {
    co_return std::vector<Status>(pieces.size(), Status(ErrorCode::broker_not_available));
  }
  kafka::WriteTxnMarkersRequest request;
  const Order* current = nullptr;
  for (const Piece& piece : pieces) {
    const MarkerToWrite marker = marker_of(piece, *image);
    if (std::exchange(current, piece.order.get()) != piece.order.get()) {
      auto& added = request.markers.emplace_back();
      added.producer_id = marker.request.producer.id;
      added.producer_epoch = marker.request.producer.epoch;
      added.transaction_result = marker.request.marker.result == TransactionResult::commit;
      added.coordinator_epoch = marker.request.marker.coordinator_epoch;
      added.transaction_version = static_cast<int8_t>(marker.request.transaction_version);
      added.transaction_number = marker.request.number.value();
    }
    auto& topics = request.markers.back().topics;
    const std::string& name = piece.order->wanted.partitions[piece.partition].topic;
    if (topics.empty() || topics.back().name != name) topics.emplace_back().name = name;
    topics.back().partition_indexes.push_back(marker.partition);
    topics.back().leader_epochs.push_back(marker.request.leader_epoch);
  }
  const BrokerListener& listener = broker->listeners.front();
  const auto response = co_await parts_.peers.call<kafka::WriteTxnMarkersResponse>(
      {to, {listener.host, listener.port}}, PeerUse::markers, std::move(request), kMarkersTimeout);
  if (!response) co_return std::vector<Status>(pieces.size(), response.error());
  std::vector<Status> written;  // the answer has the order of the request
  for (const auto& marker : response->markers) {
    for (const auto& topic : marker.topics) {
      for (const auto& partition : topic.partitions) written.emplace_back(partition.error_code);
    }
  }
  if (written.size() != pieces.size()) {
    log_warn("transactions", "broker {} has answered {} markers with {} results", to, pieces.size(), written.size());
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
