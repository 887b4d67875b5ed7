#include "cluster_control/broker_registrar.h"

#include <string>
#include <utility>

#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/metadata_keys.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr Duration kPause = 100ms;  // between looks at a key that has to go, and at a store that does not answer

Status still_registered(BrokerId id, Duration waited) {
  return error(ErrorCode::already_exists,
               "broker {} is still registered by the process that had these data folders before, {} ms after this one "
               "was started: if it runs, on another machine perhaps, end it; else wait and start again",
               id, std::chrono::duration_cast<Milliseconds>(waited).count());
}

}  // namespace

Task<Result<int64_t>> BrokerRegistrar::enter(CoordinationStore& store, const BrokerRegistration& registration,
                                             CancelToken token) {
  const MonotonicTime began = clock_.now();
  bool mentioned = false;
  for (;;) {
    RegisterBrokerPlanner planner(registration);
    const Status status = co_await attempt(store, planner, registration.id);
    if (status.ok()) co_return planner.broker_epoch();
    const Duration waited = clock_.now() - began;
    if (status == ErrorCode::version_conflict) {
      if (waited >= patience_) co_return failure(status);
      continue;  // somebody else changed something; that is quickly done again
    }
    const bool will_pass = status == ErrorCode::unavailable || planner.is_own_predecessor();
    if (!will_pass) co_return failure(status);
    if (waited >= patience_) {
      co_return failure(planner.is_own_predecessor() ? still_registered(registration.id, waited) : status);
    }
    if (planner.is_own_predecessor() && !std::exchange(mentioned, true)) {
      log_info("controller", "broker {} waits until the session of its process before has ended", registration.id);
    }
    NARU_CO_TRY(co_await sleep_until(scheduler_, clock_.now() + kPause, token));
  }
}

Task<Status> BrokerRegistrar::confirm(CoordinationStore& store, FolderConfirmation confirmation, CancelToken token) {
  const MonotonicTime began = clock_.now();
  for (;;) {
    ConfirmFoldersPlanner planner(confirmation);
    const Status status = co_await attempt(store, planner, confirmation.id);
    const bool will_pass = status == ErrorCode::version_conflict || status == ErrorCode::unavailable;
    if (!will_pass || clock_.now() - began >= patience_) co_return status;
    if (status == ErrorCode::version_conflict) continue;
    NARU_CO_TRY(co_await sleep_until(scheduler_, clock_.now() + kPause, token));
  }
}

// The keys that it needs, and no others: the metadata may be large. The generation comes first, so that the transaction
// meets a conflict if anything has changed since.
template <class BrokerPlanner>
Task<Status> BrokerRegistrar::attempt(CoordinationStore& store, BrokerPlanner& planner, BrokerId id) {
  const MetadataImage nothing;
  MetadataImageBuilder builder(nothing);
  for (const std::string& key :
       {std::string(metadata_keys::kGeneration), std::string(metadata_keys::kControllerEpoch),
        std::string(metadata_keys::kCluster), metadata_keys::broker(id), metadata_keys::known_broker(id)}) {
    NARU_CO_TRY_ASSIGN(const auto found, co_await store.get(key));
    if (found) NARU_CO_TRY(builder.put(found->key, found->value.view(), found->version));
  }
  NARU_CO_TRY_ASSIGN(const MetadataImagePtr image, builder.build());
  auto transaction = planner.plan(*image);
  if (!transaction) co_return planner.status();
  const auto committed = co_await store.commit(std::move(*transaction));
  co_return committed ? Status() : committed.error();
}

}  // namespace naru
