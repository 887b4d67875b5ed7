// The transaction coordinators of this broker: __transaction_state, its shards, and the markers that they order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.h"
#include "broker/hosted_partitions.h"
#include "broker/marker_sender.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/turnstile.h"
#include "configuration/broker_config.h"
#include "coordinator_runtime/coordinator_runtime.h"
#include "platform/seams.h"
#include "transactions/transaction_coordinator.h"

namespace naru {

// Thread-safe. Everything it is made of outlives it.
class TransactionCoordinators final : private StateShardFactory, private MarkerSink {
 public:
  struct Parts {
    Seams seams;
    const BrokerConfig& config;
    const HostedPartitions& hosted;
    const MetadataPublisher& metadata;
    MetricsRegistry& metrics;
    MemoryBudget* memory = nullptr;  // where transactions are counted, if anywhere
    Peers& peers;
    MarkerWriter& writer;
    std::function<uint64_t()> newest_connection;  // of the clients, 0: there was none yet
  };
  explicit TransactionCoordinators(Parts parts);

  // Serves the shards whose partitions are here. After the partitions followed.
  Task<void> follow(MetadataImagePtr image);
  // Begins to serve. Once, when the logs may be appended to; until then follow() does nothing.
  Task<void> start();
  // Once, before the partitions are closed. Whoever is parked is answered.
  Task<void> stop();
  // Markers that are on their way were written or given up. Once, when nobody else can be reached any more.
  Task<void> stop_sending() { return sender_.stop(); }

  // Which broker coordinates the transactional id; kNoBroker while that is not known.
  BrokerId coordinator_of(std::string_view transactional_id) const;

  // Asks the coordinator of a transactional id. `ask` gets (TransactionCoordinator&, Reply<Answer>, time, outcome). The
  // error is not_coordinator, coordinator_load_in_progress or coordinator_not_available.
  template <class Answer, class Ask>
  Task<Result<Answer>> ask(std::string_view transactional_id, Ask ask, size_t elements = 1) {
    return ask_shard<TransactionCoordinator, Answer>(shard_of(transactional_id), std::move(ask), kNoLeaderEpoch, {},
                                                     {.elements = elements, .of_state = elements_of(transactional_id)});
  }
  // A leader asks, in mode verify_only or implicit. What this broker has not heard of yet is not added: the coordinator
  // could not tell it from what was deleted when markers have to be written. coordinator_not_available also if the
  // answer takes long; it may be added then, and asking again does no harm.
  Task<Result<AddPartitionsAnswer>> join(AddPartitions request);
  // All that are on this broker.
  std::vector<std::shared_ptr<CoordinatorShard>> shards() const { return runtime_.shards(); }

 private:
  static constexpr size_t kMaxWaiting = 1000;  // never reached: images are published one at a time

  std::unique_ptr<StateShard> make(PartitionIndex partition, LeaderEpoch leader_epoch) override;
  void loaded(StateShard& shard, const CoordinatorTime& time, CoordinatorOutcome& outcome) override;
  void send(const MarkersWanted& wanted) override;

  // Of the partitions that are led here, the one that has stood still for longest.
  double oldest_unstable_seconds() const;
  std::shared_ptr<CoordinatorShard> shard_of(std::string_view transactional_id) const;
  // How much a step about the transaction has to do.
  static UniqueFunction<size_t(const StateShard&)> elements_of(std::string_view transactional_id) {
    return [id = std::string(transactional_id)](const StateShard& state) {
      return static_cast<const TransactionCoordinator&>(state).partitions_of(id);
    };
  }
  // Whether the coordinator of this reign is in office.
  InOffice in_office(const CoordinatorReign& reign, const MetadataImage& image) const;
  // In the reign that ordered them.
  std::shared_ptr<CoordinatorShard> orderer_of(const CoordinatorReign& reign) const;
  void all_written(const CoordinatorReign& reign, MarkersWritten written) const;

  Parts parts_;
  CoordinatorRuntime runtime_;
  MarkerSender sender_;
  std::vector<GaugeCallback> gauges_;
  Turnstile turns_{kMaxWaiting};  // of follow() and stop(), which guard what comes next
  bool started_ = false;
  bool stopped_ = false;
};

}  // namespace naru
