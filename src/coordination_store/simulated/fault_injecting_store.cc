#include "coordination_store/simulated/fault_injecting_store.h"

#include <utility>

namespace naru {

bool FaultInjectingStore::strikes(uint64_t one_in) {
  if (one_in == 0 || !random_.one_in(one_in)) return false;
  ++faults_injected_;
  return true;
}

Task<Result<std::optional<KeyValue>>> FaultInjectingStore::get(std::string key) {
  if (strikes(faults_.unavailable_reads_one_in)) co_return failure(ErrorCode::unavailable, "injected");
  co_return co_await store_.get(std::move(key));
}

Task<Result<std::vector<KeyValue>>> FaultInjectingStore::list(std::string folder) {
  if (strikes(faults_.unavailable_reads_one_in)) co_return failure(ErrorCode::unavailable, "injected");
  co_return co_await store_.list(std::move(folder));
}

Task<Result<std::vector<KeyVersion>>> FaultInjectingStore::commit(Transaction transaction) {
  if (strikes(faults_.conflict_one_in)) co_return failure(ErrorCode::version_conflict, "injected");
  if (strikes(faults_.lost_request_one_in)) co_return failure(ErrorCode::unavailable, "injected, request lost");
  auto versions = co_await store_.commit(std::move(transaction));
  if (strikes(faults_.lost_answer_one_in)) co_return failure(ErrorCode::unavailable, "injected, answer lost");
  co_return versions;
}

}  // namespace naru
