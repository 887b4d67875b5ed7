// What only the controller does, asked for wherever it is.
#pragma once

#include <type_traits>
#include <utility>

#include "client/cluster_client.h"

namespace naru::client {

namespace detail {
inline ErrorCode code_of(const Status& status) {
  return status.code();
}
template <class T>
ErrorCode code_of(const Result<T>& result) {
  return result ? ErrorCode::none : result.error().code();
}
}  // namespace detail

// `ask` makes a task that yields a Status or a Result. It is called once more, with fresh metadata, if the broker that
// was asked is not the controller any more.
template <class Ask>
std::invoke_result_t<Ask> at_controller(ClusterClient& client, Ask ask) {
  auto answer = co_await ask();
  if (detail::code_of(answer) != ErrorCode::not_controller) co_return answer;
  NARU_CO_TRY(co_await client.refresh({}));
  co_return co_await ask();
}

}  // namespace naru::client
