// ListGroups: the groups that this broker coordinates, by state and type if asked.
#include <cctype>
#include <set>
#include <string>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "kafka_protocol/messages/list_groups_request.h"
#include "kafka_protocol/messages/list_groups_response.h"

namespace naru {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Each word once, however long the request's list is.
class Filter {
 public:
  explicit Filter(const std::vector<std::string_view>& words) {
    for (const std::string_view word : words) words_.insert(lower_case(word));
  }
  // No filter lets everything through.
  bool lets_through(std::string_view value) const { return words_.empty() || words_.contains(lower_case(value)); }

 private:
  std::set<std::string> words_;
};

}  // namespace

Task<Response> handle_list_groups(const BrokerServices& services, const RequestContext& context,
                                  kafka::WireReader& reader) {
  kafka::ListGroupsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  co_await off_the_loop_if_large(services, context);

  const Filter states(request.states_filter);
  const Filter types(request.types_filter);
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
      if (!states.lets_through(group.state) || !types.lets_through(group.type)) continue;
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
