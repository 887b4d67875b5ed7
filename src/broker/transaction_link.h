// The way to the coordinator of a transactional id, which may be on this broker or on another one: for leaders that
// want to know whether what a producer writes belongs to a transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "async/cancellation.h"
#include "async/task.h"
#include "broker/peers.h"
#include "broker/transaction_coordinators.h"
#include "cluster_control/metadata_publisher.h"
#include "platform/seams.h"
#include "transactions/transaction_messages.h"

namespace naru {

// Thread-safe. Everything it is made of outlives it.
class TransactionLink {
 public:
  struct Parts {
    Seams seams;
    BrokerId self;
    const MetadataPublisher& metadata;
    Peers& peers;
    std::function<int64_t()> broker_epoch;  // of this broker's registration
    TransactionCoordinators& here;
  };
  explicit TransactionLink(Parts parts) : parts_(std::move(parts)) {}

  // Asks in mode verify_only or implicit. The error, if there is one for all: the coordinator could not be asked, and
  // may be later. Waits a moment for the end of the transaction before this one.
  Task<Result<AddPartitionsAnswer>> join(AddPartitions request);

  // Whoever waits gets an error or the last answer that there was, and every later one an error.
  Task<void> stop();

 private:
  Task<Result<AddPartitionsAnswer>> ask(AddPartitions request);
  Task<Result<AddPartitionsAnswer>> ask_elsewhere(BrokerId coordinator, const AddPartitions& request);

  Parts parts_;
  CancelSource stopping_;
};

}  // namespace naru
