// For tests: metadata that grows by planners alone, with a coordination store's contents beside it and no I/O.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "cluster_control/controller_start.h"
#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/planner.h"
#include "coordination_store/store_state.h"

namespace naru {

class MetadataBench {
 public:
  // A controller in office and brokers 0..n-1, in the racks given.
  explicit MetadataBench(int32_t broker_count, const std::map<int32_t, std::string>& racks = {}) {
    ClaimControllerPlanner claim(BrokerId(0), {1, 1});
    run(claim);
    for (int32_t id = 0; id < broker_count; ++id) {
      const auto rack = racks.find(id);
      BrokerRegistration registration{
          BrokerId(id), {2, static_cast<uint64_t>(id)}, {}, {{"PLAINTEXT", "host", 9092, 0}}};
      if (rack != racks.end()) registration.rack = rack->second;
      RegisterBrokerPlanner planner(std::move(registration));
      run(planner);
    }
  }

  // All steps; every transaction must be within the limits and meet no conflict, and the image that grew by it must
  // equal the one that the store gives.
  void run(Planner& planner) {
    while (!planner.done()) {
      const auto transaction = planner.plan(*image_);
      if (transaction) {
        ++transactions_;
        EXPECT_TRUE(validate_transaction(*transaction).ok());
        const Status status = store_.check(*transaction);
        EXPECT_TRUE(status.ok()) << status.to_string();
        const auto versions = store_.apply(*transaction, 1);
        MetadataImageBuilder builder(*image_);
        for (size_t i = 0; i < versions.size(); ++i) {
          EXPECT_TRUE(builder.put(transaction->puts[i].key, transaction->puts[i].value, versions[i]).ok());
        }
        for (const std::string& key : transaction->deletes) EXPECT_TRUE(builder.remove(key).ok());
        auto next = builder.build();
        ASSERT_TRUE(next) << next.error().to_string();
        image_ = std::move(*next);
        const auto rebuilt = rebuild();
        ASSERT_TRUE(rebuilt) << rebuilt.error().to_string();
        EXPECT_TRUE(**rebuilt == *image_);
      }
      planner.committed();
    }
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
};

}  // namespace naru
