// Asks for the identity under which an idempotent producer sends.
#pragma once

#include "client/cluster_client.h"
#include "client/record_accumulator.h"

namespace naru::client {

// Any broker gives one. A broker that does not offer it gives none, and retries may then store a batch twice.
Task<Result<ProducerIdentity>> ask_for_identity(ClusterClient& client);

}  // namespace naru::client
