// What the handlers of the transaction APIs share.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "access/authorizer.h"
#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "foundation/error_code.h"

namespace naru {

// Clients of older versions know another word for it.
inline ErrorCode fenced_for(int16_t version, int16_t first_that_knows, ErrorCode code) {
  return code == ErrorCode::producer_fenced && version < first_that_knows ? ErrorCode::invalid_producer_epoch : code;
}
inline constexpr int16_t kFirstTxnVersionWithFenced = 2;  // of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn

// none, invalid_request or transactional_id_authorization_failed.
inline ErrorCode transactional_id_access(const BrokerServices& services, const RequestContext& context,
                                         Operation operation, std::string_view transactional_id) {
  if (transactional_id.empty()) return ErrorCode::invalid_request;
  return services.authorizer.authorize(context.caller, operation, ResourceType::transactional_id, transactional_id)
             ? ErrorCode::none
             : ErrorCode::transactional_id_authorization_failed;
}

// While it lives, the connection hands out no further request. To add something may have to wait until the transaction
// before is over, and the abort that a producer sends right behind it must not overtake it: it would find nothing to
// abort, and what was added then would stay open. Made on the loop thread.
class RequestsBehind {
 public:
  explicit RequestsBehind(const RequestContext& context) : connection_(context.connection) {
    connection_->hold_requests();
  }
  ~RequestsBehind() { connection_->release_requests(); }
  RequestsBehind(const RequestsBehind&) = delete;
  RequestsBehind& operator=(const RequestsBehind&) = delete;

 private:
  const std::shared_ptr<Connection> connection_;
};

// The request has been overtaken by what its producer has said on a later connection, or this coordinator cannot know
// whether it has: it has no effect and no answer.
inline Response close_late(const RequestContext& context, std::string_view transactional_id) {
  return close_connection(
      fmt::format("{} of the transactional id {} may come late: its producer has connected again since, or the "
                  "coordinator was loaded since; what comes on a new connection is taken",
                  context.api.name, transactional_id));
}

}  // namespace naru
