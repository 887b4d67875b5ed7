// One Produce request: batches of several partitions, and what the broker said about each.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "client/broker_connection.h"
#include "client/record_accumulator.h"

namespace naru::client {

struct ProduceResult {
  Status status;
  Offset base_offset = kNoOffset;
};

// In the order of the batches; at most one batch of a partition. The batches are encoded before the first wait, and
// must live until then. An error of the whole: the request may or may not have arrived.
Task<Result<std::vector<ProduceResult>>> send_batches(BrokerConnection& connection,
                                                      std::span<const std::unique_ptr<ProducerBatch>> batches,
                                                      int16_t acks, Duration timeout);

// acks=0.
Status send_without_answer(BrokerConnection& connection, std::span<const std::unique_ptr<ProducerBatch>> batches);

}  // namespace naru::client
