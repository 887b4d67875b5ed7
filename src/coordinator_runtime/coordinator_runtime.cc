#include "coordinator_runtime/coordinator_runtime.h"

#include <algorithm>

namespace naru {

CoordinatorRuntime::CoordinatorRuntime(std::string topic, StateShardFactory& factory, Parts parts,
                                       size_t batch_max_bytes)
    : topic_(std::move(topic)),
      factory_(factory),
      metrics_(parts.metrics, topic_),
      services_{.clock = parts.clock,
                .scheduler = parts.scheduler,
                .metrics = metrics_,
                .tasks = tasks_,
                .batch_max_bytes = batch_max_bytes} {}

void CoordinatorRuntime::serve(const std::shared_ptr<Partition>& partition, LeaderEpoch leader_epoch) {
  std::shared_ptr<CoordinatorShard> shard;
  {
    const std::scoped_lock lock(mutex_);
    auto& place = shards_[partition->identity().index];
    if (place != nullptr) return;
    place = shard = std::make_shared<CoordinatorShard>(partition, leader_epoch, factory_, services_);
  }
  shard->start();
}

Task<void> CoordinatorRuntime::keep_only(const std::vector<Led>& led) {
  std::vector<std::shared_ptr<CoordinatorShard>> gone;
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(shards_, [&](const auto& entry) {
      const Led shard{entry.second->partition(), entry.second->leader_epoch()};
      const bool kept = std::ranges::find(led, shard) != led.end();
      if (!kept) gone.push_back(entry.second);
      return !kept;
    });
  }
  for (const auto& shard : gone) co_await shard->stop();
}

Task<void> CoordinatorRuntime::stop() {
  co_await keep_only({});
  co_await tasks_.join();
}

std::shared_ptr<CoordinatorShard> CoordinatorRuntime::shard(PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto found = shards_.find(index);
  return found == shards_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<CoordinatorShard>> CoordinatorRuntime::shards() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<CoordinatorShard>> all;
  for (const auto& [index, shard] : shards_) all.push_back(shard);
  return all;
}

}  // namespace naru
