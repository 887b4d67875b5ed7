// For tests: metadata that grows by planners alone, with a coordination store's contents beside it and no I/O.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_control/confirm_folders.h"
#include "cluster_control/controller_start.h"
#include "cluster_control/elect_leaders.h"
#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/offline_logs.h"
#include "cluster_control/planner.h"
#include "cluster_control/settle_partitions.h"
#include "coordination_store/store_state.h"

namespace naru {

inline std::vector<ElectLeadersItem> all_partitions(const MetadataImage& image) {
  std::vector<ElectLeadersItem> items;
  for (const TopicMetadataPtr& topic : image.topics()) add_partitions_of(*topic, items);
  return items;
}
inline std::vector<ElectLeadersItem> imbalanced_partitions(const MetadataImage& image) {
  std::vector<ElectLeadersItem> items;
  const BrokerStandings settled = BrokerStandings(image, {}).settled_only();
  for (const TopicMetadataPtr& topic : image.topics()) add_imbalanced(*topic, settled, items);
  return items;
}

class MetadataBench {
 public:
  // A controller in office and brokers 0..n-1, in the racks given, all of them settled.
  explicit MetadataBench(int32_t broker_count, const std::map<int32_t, std::string>& racks = {}) {
    ClaimControllerPlanner claim(BrokerId(0), {1, 0}, {1, 1});
    run(claim);
    for (int32_t id = 0; id < broker_count; ++id) {
      const auto rack = racks.find(id);
      register_broker(BrokerId(id), true, {directory_of(BrokerId(id))},
                      rack == racks.end() ? std::nullopt : std::optional(rack->second));
    }
    settle();
  }

  void register_broker(BrokerId id, bool clean, const std::vector<Uuid>& directories,
                       const std::optional<std::string>& rack = {}) {
    std::vector<DataFolder> folders;
    for (const Uuid& directory : directories) folders.push_back({directory, image_->known_broker(id).registered_epoch});
    register_with(id, clean, std::move(folders), rack);
  }
  void register_with(BrokerId id, bool clean, std::vector<DataFolder> folders,
                     const std::optional<std::string>& rack = {}, PartitionIds offline = {}) {
    RegisterBrokerPlanner planner({.id = id,
                                   .incarnation = {2, next_incarnation_++},
                                   .rack = rack,
                                   .listeners = {{"PLAINTEXT", "host", 9092, 0}},
                                   .clean_shutdown = clean,
                                   .folders = std::move(folders),
                                   .offline = std::move(offline)});
    run(planner);
    EXPECT_TRUE(planner.status().ok()) << planner.status().to_string();
  }
  // The epoch of its registration is durable in these folders.
  void confirm(BrokerId id, std::vector<Uuid> directories) {
    ConfirmFoldersPlanner planner({id, image_->find_broker(id)->epoch, std::move(directories)});
    run(planner);
    EXPECT_TRUE(planner.status().ok()) << planner.status().to_string();
  }
  // These are all of its logs that it cannot use.
  void tell_offline(BrokerId id, PartitionIds logs) {
    NoteOfflineLogsPlanner planner(id, {image_->find_broker(id)->epoch, std::move(logs)});
    run(planner);
    EXPECT_TRUE(planner.status().ok()) << planner.status().to_string();
  }
  // Its session has ended: the key goes without a transaction.
  void lose_broker(BrokerId id) {
    const std::string key = metadata_keys::broker(id);
    if (image_->find_broker(id) == nullptr) return;
    store_.apply({.deletes = {key}}, 1);
    MetadataImageBuilder builder(*image_);
    EXPECT_TRUE(builder.remove(key).ok());
    image_ = *builder.build();
  }
  void settle(const StoppingBrokers& stopping = {}) {
    SettlePartitionsPlanner planner(config_, [&stopping] { return stopping; });
    run(planner);
  }
  // Of a broker that is known to the controller.
  std::vector<Uuid> directories(BrokerId id) const { return image_->known_brokers().at(id).directory_ids; }
  static Uuid directory_of(BrokerId id) { return {3, static_cast<uint64_t>(id.value())}; }

  // All steps; every transaction must be within the limits and meet no conflict, and the image that grew by it must
  // equal the one that the store gives.
  void run(Planner& planner) {
    while (!planner.done()) {
      const auto transaction = planner.plan(*image_);
      if (transaction) commit(*transaction);
      planner.committed();
    }
  }

  // One transaction, past its planner.
  void commit(const Transaction& transaction) {
    ++transactions_;
    EXPECT_TRUE(validate_transaction(transaction).ok());
    const Status status = store_.check(transaction);
    EXPECT_TRUE(status.ok()) << status.to_string();
    const auto versions = store_.apply(transaction, 1);
    MetadataImageBuilder builder(*image_);
    for (size_t i = 0; i < versions.size(); ++i) {
      EXPECT_TRUE(builder.put(transaction.puts[i].key, transaction.puts[i].value, versions[i]).ok());
    }
    for (const std::string& key : transaction.deletes) EXPECT_TRUE(builder.remove(key).ok());
    auto next = builder.build();
    ASSERT_TRUE(next) << next.error().to_string();
    image_ = std::move(*next);
    const auto rebuilt = rebuild();
    ASSERT_TRUE(rebuilt) << rebuilt.error().to_string();
    EXPECT_TRUE(**rebuilt == *image_);
  }

  Result<MetadataImagePtr> rebuild() const {
    const MetadataImage nothing;
    MetadataImageBuilder builder(nothing);
    for (const auto& [key, entry] : store_.entries()) {
      NARU_TRY(builder.put(key, entry.value.view(), entry.version));
    }
    return builder.build();
  }

  const MetadataImage& image() const { return *image_; }
  StoreState& store() { return store_; }
  size_t transactions() const { return transactions_; }

 private:
  StoreState store_;
  MetadataImagePtr image_ = std::make_shared<const MetadataImage>();
  size_t transactions_ = 0;
  uint64_t next_incarnation_ = 0;
  BrokerConfig config_ = *make_broker_config({});
};

}  // namespace naru
