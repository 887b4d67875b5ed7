// What the handlers of the group APIs share.
#pragma once

#include <coroutine>
#include <optional>
#include <string>
#include <string_view>

#include "broker/authorizer.h"
#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "consumer_groups/group_messages.h"

namespace naru {

inline std::optional<std::string> to_owned(std::optional<std::string_view> text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

inline Bytes to_owned(BytesView bytes) {
  return {bytes.begin(), bytes.end()};
}

// What a large request says becomes one step of the group's coordinator: not on a loop. Requests that large are not
// pipelined, so their order is not kept.
inline auto off_the_loop_if_large(const BrokerServices& services, const RequestContext& context) {
  struct Awaiter {
    Scheduler& scheduler;
    bool is_large;
    bool await_ready() const { return !is_large; }
    void await_suspend(std::coroutine_handle<> coroutine) const {
      scheduler.run_blocking([coroutine] { coroutine.resume(); });
    }
    void await_resume() const {}
  };
  constexpr size_t kLarge = 256 * 1024;
  return Awaiter{services.scheduler, context.frame.size() >= kLarge};
}

// group_authorization_failed, or none.
inline ErrorCode group_access(const BrokerServices& services, const RequestContext& context, Operation operation,
                              std::string_view group_id) {
  return services.authorizer.authorize(context, operation, ResourceType::group, group_id)
             ? ErrorCode::none
             : ErrorCode::group_authorization_failed;
}

}  // namespace naru
