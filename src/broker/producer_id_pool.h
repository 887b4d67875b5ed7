// Hands out producer ids from a block that this broker was given by the controller, and asks for the next block when it
// is used up. A broker that dies takes the rest of its block with it.
#pragma once

#include <mutex>

#include "async/task.h"
#include "cluster_control/allocate_producer_ids.h"
#include "cluster_control/turnstile.h"
#include "foundation/function.h"
#include "foundation/ids.h"
#include "foundation/status.h"

namespace naru {

// Thread-safe. Outlives its tasks.
class ProducerIdPool {
 public:
  using Allocate = UniqueFunction<Task<Result<ProducerIdBlock>>()>;
  using LowestId = UniqueFunction<ProducerId()>;
  // `allocate` is called by one task at a time. Ids below `lowest()` are skipped: partitions that are newer than the
  // ids know that they were never there (TopicMetadata::first_new_producer), so it is better to hand out newer ones.
  explicit ProducerIdPool(
      Allocate allocate, LowestId lowest = [] { return ProducerId(0); })
      : allocate_(std::move(allocate)), lowest_(std::move(lowest)), turnstile_(kMaxWaiting) {}

  // Never the same twice. The allocation's error; request_timed_out when too many wait for a block already.
  Task<Result<ProducerId>> next();

 private:
  static constexpr size_t kMaxWaiting = 1000;

  std::optional<ProducerId> take();

  Allocate allocate_;
  LowestId lowest_;  // under the mutex
  Turnstile turnstile_;
  std::mutex mutex_;
  ProducerIdBlock block_;  // what is left of it
};

}  // namespace naru
