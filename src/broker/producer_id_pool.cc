#include "broker/producer_id_pool.h"

#include <algorithm>

namespace naru {

std::optional<ProducerId> ProducerIdPool::take() {
  const std::scoped_lock lock(mutex_);
  block_.first = std::max(block_.first, lowest_());
  if (block_.first >= block_.end) return std::nullopt;
  const ProducerId id = block_.first;
  ++block_.first;
  return id;
}

Task<Result<ProducerId>> ProducerIdPool::next() {
  if (const auto id = take()) co_return *id;
  const auto turn = co_await turnstile_.enter();
  if (!turn) co_return failure(turn.error());
  // Whoever had the turn before may have brought a block.
  if (const auto id = take()) co_return *id;
  NARU_CO_TRY_ASSIGN(ProducerIdBlock block, co_await allocate_());
  const ProducerId id = block.first;
  ++block.first;
  const std::scoped_lock lock(mutex_);
  block_ = block;
  co_return id;
}

}  // namespace naru
