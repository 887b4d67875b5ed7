// What can be set about groups. Kafka's keys, with the defaults of the configuration reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "consumer_groups/consumer_protocol/consumer_group_settings.h"
#include "foundation/time.h"

namespace naru {

struct GroupSettings {
  Milliseconds initial_rebalance_delay{3000};                                  // group.initial.rebalance.delay.ms
  Milliseconds session_timeout_min{6000};                                      // group.min.session.timeout.ms
  Milliseconds session_timeout_max{1'800'000};                                 // group.max.session.timeout.ms
  size_t size_max = std::numeric_limits<int32_t>::max();                       // group.max.size
  size_t offset_metadata_bytes_max = 4096;                                     // offset.metadata.max.bytes
  Milliseconds offsets_retention{Milliseconds(std::chrono::minutes(43'200))};  // offsets.retention.minutes
  // One group is one record: its members may not say more than this.
  size_t group_bytes_max = size_t{8} * 1024 * 1024;
  // The offsets of one commit are one batch, so that it is there as a whole or not at all.
  size_t commit_bytes_max = size_t{16} * 1024 * 1024;
  // What transactions have committed and not ended yet, of one shard: beyond these it has to wait for others to end.
  size_t pending_bytes_max = size_t{64} * 1024 * 1024;
  size_t pending_transactions_max = 5'000;  // at most half of naru.max.producers.per.partition
  ConsumerGroupSettings consumer;           // of groups of the consumer protocol
};

}  // namespace naru
