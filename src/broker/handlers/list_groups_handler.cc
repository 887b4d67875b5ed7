// ListGroups: the groups that this broker coordinates, by state and type if asked.
#include <memory>
#include <utility>
#include <vector>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_filter.h"
#include "broker/handlers/group_words.h"
#include "broker/turns.h"
#include "foundation/request_canary.h"
#include "kafka_protocol/messages/list_groups_request.h"
#include "kafka_protocol/messages/list_groups_response.h"

namespace naru {
namespace {

Task<GroupFilter> filter_of(const std::vector<std::string_view>& words, Turns& turns) {
  GroupFilter filter;
  for (const std::string_view word : words) {
    co_await turns.step();
    filter.add(word);
  }
  co_return filter;
}

Task<Result<std::vector<ListedGroup>>> ask_for(const ListGroups& page, std::shared_ptr<CoordinatorShard> shard) {
  return ask_shard<GroupCoordinator, std::vector<ListedGroup>>(
      std::move(shard),
      [page](GroupCoordinator& groups, Reply<std::vector<ListedGroup>> reply, const CoordinatorTime& time,
             CoordinatorOutcome& outcome) { groups.list_groups(page, std::move(reply), time, outcome); },
      kNoLeaderEpoch, {}, {.elements = std::min(page.max, CoordinatorShard::kElementsOnLoop), .of_state = {}});
}

// With what the response's element takes before and after it is encoded.
uint64_t memory_of(const std::vector<ListedGroup>& groups) {
  constexpr uint64_t kMemoryPerGroup = 320;
  uint64_t bytes = 0;
  for (const ListedGroup& group : groups) {
    bytes += kMemoryPerGroup + 2 * (group.group_id.size() + group.protocol_type.size());
  }
  return bytes;
}

}  // namespace

Task<Response> handle_list_groups(const BrokerServices& services, const RequestContext& context,
                                  kafka::WireReader& reader) {
  kafka::ListGroupsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  const GroupFilter states = co_await filter_of(request.states_filter, turns);
  const GroupFilter types = co_await filter_of(request.types_filter, turns);
  kafka::ListGroupsResponse response;
  const bool all =
      services.authorizer.authorize(context.caller, Operation::describe, ResourceType::cluster, kClusterResource);
  const auto is_wanted = [&](const ListedGroup& group) {
    if (!states.lets_through(group.state) || !types.lets_through(group.type)) return false;
    return all || group_access(services, context, Operation::describe, group.group_id) == ErrorCode::none;
  };
  const bool in_steps = !is_planted(RequestCanary::groups_in_one_step);
  for (const auto& shard : services.groups.shards()) {
    ListGroups page;
    if (in_steps) page.max = kGroupsPerStep;
    for (bool is_last = false; !is_last;) {
      auto listed = co_await ask_for(page, shard);
      if (!listed) {
        kafka::ListGroupsResponse refused;
        refused.error_code = listed.error().code();
        co_return encode_reply(context, refused);
      }
      if (!context.memory.take_for_answer(memory_of(*listed))) co_return no_memory_for_answer();
      is_last = listed->size() < page.max;
      if (!is_last) page.after = listed->back().group_id;
      for (ListedGroup& group : *listed) {
        if (in_steps) co_await turns.step();
        if (!is_wanted(group)) continue;
        response.groups.push_back({.group_id = std::move(group.group_id),
                                   .protocol_type = std::move(group.protocol_type),
                                   .group_state = std::move(group.state),
                                   .group_type = std::move(group.type)});
      }
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
