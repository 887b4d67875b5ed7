// What a client wants to append to a partition, on its way into the log: checked, and in the codec of the topic.
#pragma once

#include <cstdint>
#include <vector>

#include "broker/broker_services.h"
#include "configuration/topic_config.h"
#include "foundation/shared_bytes.h"
#include "foundation/status.h"
#include "record_format/batch_validator.h"

namespace naru {

// Whether the batch came in another codec than the one that compression.type asks for. Then checking it is work for a
// worker, however small it is: compressing 16 KiB takes 0.01 ms (snappy, lz4) to 3 ms (zstd at level 19), handing the
// request over some 0.01 ms (hand_over_bench).
bool is_to_be_recompressed(const TopicConfig& config, BytesView batch);

// `version` is that of the Produce request. `batch` becomes what is to be stored: itself, or a recompressed one, which
// gives back its memory when it goes. The errors of validate_produced_batch(), and message_too_large also for what is
// larger than max.message.bytes in its new codec; out_of_memory_budget when there is no memory for the work.
Result<ValidatedBatch> check_produced_batch(const BrokerServices& services, const TopicConfig& config, int16_t version,
                                            SharedBytes& batch, std::vector<RejectedRecord>* rejected);

}  // namespace naru
