#include "consumer_groups/consumer_protocol/consumer_group_heartbeat_check.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include <fmt/ranges.h>

#include "consumer_groups/group_records.h"
#include "foundation/sort_and_drop_doubles.h"

namespace naru {
namespace {

Status invalid_heartbeat(std::string_view why) {
  return error(ErrorCode::invalid_request, "{}", why);
}

bool is_given_but_empty(const std::optional<std::string>& text) {
  return text.has_value() && text->empty();
}

Status check_identity(const ConsumerHeartbeat& request) {
  if (request.group_id.empty()) return invalid_heartbeat("a group needs a name");
  if (is_given_but_empty(request.instance_id)) return invalid_heartbeat("an instance id may not be empty");
  if (is_given_but_empty(request.rack_id)) return invalid_heartbeat("a rack may not be empty");
  if (request.member_epoch < kTemporaryLeaveEpoch) return invalid_heartbeat("there is no such member epoch");
  if (request.member_epoch == kTemporaryLeaveEpoch && !request.instance_id.has_value()) {
    return invalid_heartbeat("only a static member can leave for a while");
  }
  const bool may_get_id = request.member_epoch == kJoinEpoch && !request.must_bring_member_id;
  if (request.member_id.empty() && !may_get_id) return invalid_heartbeat("the member id is missing");
  return {};
}

Status check_join(const ConsumerHeartbeat& request) {
  if (!request.rebalance_timeout.has_value()) return invalid_heartbeat("who joins has to give a rebalance timeout");
  if (!request.owned.has_value() || !request.owned->empty()) {
    return invalid_heartbeat("who joins has no partitions, and has to say so");
  }
  if (!request.subscribed_topics.has_value() && !request.subscribed_expression.has_value()) {
    return invalid_heartbeat("who joins has to subscribe to topics or to an expression");
  }
  return {};
}

bool fits(const std::optional<std::string>& text) {
  return !text.has_value() || fits_record(*text);
}

Status check_texts(const ConsumerHeartbeat& request) {
  const bool all_fit = is_group_id(request.group_id) && fits_record(request.member_id) && fits(request.instance_id) &&
                       fits(request.rack_id) && fits_record(request.client_id) && fits_record(request.client_host) &&
                       (!request.subscribed_topics || std::ranges::all_of(*request.subscribed_topics, fits_record));
  return all_fit ? Status() : invalid_heartbeat("a text is too long");
}

// It becomes a record.
Status check_subscription_size(const ConsumerHeartbeat& request, size_t limit) {
  if (!request.subscribed_topics.has_value()) return {};
  size_t bytes = 0;
  for (const std::string& name : *request.subscribed_topics) bytes += name.size() + sizeof(uint32_t);
  if (bytes > limit) return invalid_heartbeat("the subscription is too large");
  return {};
}

std::vector<std::string> in_order(std::vector<std::string> names) {
  sort_and_drop_doubles(names);
  return names;
}

}  // namespace

Status check_heartbeat(const ConsumerHeartbeat& request, const ConsumerGroupSettings& settings) {
  NARU_TRY(check_identity(request));
  NARU_TRY(check_texts(request));
  if (request.member_epoch < 0) return {};  // whoever leaves needs to say nothing else
  if (request.member_epoch == kJoinEpoch) NARU_TRY(check_join(request));
  if (request.rebalance_timeout.has_value() &&
      (request.rebalance_timeout->count() < 0 ||
       request.rebalance_timeout->count() > std::numeric_limits<int32_t>::max())) {
    return invalid_heartbeat("the rebalance timeout is out of range");
  }
  NARU_TRY(check_subscription_size(request, settings.subscription_bytes_max));
  if (request.assignor.has_value() &&
      std::ranges::find(settings.assignors, *request.assignor) == settings.assignors.end()) {
    return error(ErrorCode::unsupported_assignor, "there is no assignor {} here, only {} (group.consumer.assignors)",
                 *request.assignor, fmt::join(settings.assignors, ", "));
  }
  return {};
}

ConsumerSubscription updated_subscription(ConsumerSubscription said, const ConsumerHeartbeat& request) {
  if (request.instance_id.has_value()) said.instance_id = request.instance_id;
  if (request.rack_id.has_value()) said.rack_id = request.rack_id;
  if (request.rebalance_timeout.has_value()) said.rebalance_timeout = *request.rebalance_timeout;
  if (request.assignor.has_value()) said.assignor = request.assignor;
  if (request.subscribed_topics.has_value()) said.topics = in_order(*request.subscribed_topics);
  if (request.subscribed_expression.has_value()) said.expression = *request.subscribed_expression;
  said.client_id = request.client_id;
  said.client_host = request.client_host;
  said.classic.reset();
  return said;
}

}  // namespace naru
