// ListGroups: the groups that this broker coordinates, by state and type if asked.
#include <algorithm>
#include <cctype>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "kafka_protocol/messages/list_groups_request.h"
#include "kafka_protocol/messages/list_groups_response.h"

namespace naru {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// No filter lets everything through.
bool passes(const std::vector<std::string_view>& filter, std::string_view value) {
  return filter.empty() ||
         std::ranges::any_of(filter, [value](std::string_view wanted) { return equal_ignoring_case(wanted, value); });
}

}  // namespace

Task<Response> handle_list_groups(const BrokerServices& services, const RequestContext& context,
                                  kafka::WireReader& reader) {
  kafka::ListGroupsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::ListGroupsResponse response;
  const bool all = services.authorizer.authorize(context, Operation::describe, ResourceType::cluster, kClusterResource);
  for (const auto& shard : services.groups.shards()) {
    auto listed = co_await ask_shard<GroupCoordinator, std::vector<ListedGroup>>(
        shard, [](GroupCoordinator& groups, Reply<std::vector<ListedGroup>> reply, const CoordinatorTime& time,
                  CoordinatorOutcome& outcome) { groups.list_groups(std::move(reply), time, outcome); });
    if (!listed) {
      response.error_code = listed.error().code();
      response.groups.clear();
      break;
    }
    for (ListedGroup& group : *listed) {
      if (!passes(request.states_filter, group.state) || !passes(request.types_filter, group.type)) continue;
      if (!all && group_access(services, context, Operation::describe, group.group_id) != ErrorCode::none) continue;
      response.groups.push_back({.group_id = std::move(group.group_id),
                                 .protocol_type = std::move(group.protocol_type),
                                 .group_state = std::move(group.state),
                                 .group_type = std::move(group.type)});
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
