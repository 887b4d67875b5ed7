// Requests between brokers: who may send them.
#pragma once

#include "broker/broker_services.h"
#include "cluster_control/metadata_publisher.h"
#include "foundation/error_code.h"

namespace naru {

// none: the request is of a broker that is registered with this epoch, as far as is known here.
inline ErrorCode check_sender(const BrokerServices& services, BrokerId id, int64_t epoch) {
  const BrokerMetadata* broker = services.metadata.current()->find_broker(id);
  if (broker == nullptr) return ErrorCode::broker_id_not_registered;
  return broker->epoch == epoch ? ErrorCode::none : ErrorCode::stale_broker_epoch;
}

}  // namespace naru
