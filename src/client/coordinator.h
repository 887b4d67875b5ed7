// What only the coordinator of a group or of a transactional id does, asked for wherever it is.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "client/at_controller.h"
#include "client/cluster_client.h"

namespace naru::client {

// The numbers are those of the protocol.
enum class CoordinatorKind : int8_t { group = 0, transaction = 1 };

struct Coordinator {
  BrokerId id = kNoBroker;
  Connection connection;
};

// Where the group, or the transactional id, is coordinated now. coordinator_not_available while nobody does.
Task<Result<Coordinator>> find_coordinator(ClusterClient& client, CoordinatorKind kind, std::string key);

// Whether the same question may be answered soon, by this broker or by another.
bool coordinator_may_answer_soon(ErrorCode code);

// `ask` takes a Coordinator and makes a task that yields a Status or a Result. It is called again, with the coordinator
// looked up anew, until the answer is final or `patience` is over; then the last answer counts.
template <class Ask>
std::invoke_result_t<Ask, Coordinator> at_coordinator(ClusterClient& client, CoordinatorKind kind, std::string key,
                                                      Duration patience, Ask ask) {
  const MonotonicTime deadline = client.seams().clock.now() + patience;
  while (true) {
    auto found = co_await find_coordinator(client, kind, key);
    const bool last = client.seams().clock.now() >= deadline;
    if (found) {
      auto answer = co_await ask(std::move(*found));
      if (last || !coordinator_may_answer_soon(detail::code_of(answer))) co_return answer;
    } else if (last || !coordinator_may_answer_soon(found.error().code())) {
      co_return naru::detail::Propagate{std::move(found).error()};
    }
    co_await client.back_off();
  }
}

}  // namespace naru::client
