#include <algorithm>

#include "client/coordinator.h"
#include "client/group_offsets.h"
#include "command_line/group_commands.h"
#include "command_line/group_reasons.h"
#include "command_line/json_text.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

constexpr Duration kBetweenLooks = 500ms;

Task<Result<std::vector<std::string>>> find_missing_topics(client::ClusterClient& client,
                                                           const client::GroupDescription& group) {
  std::set<std::string> wanted;
  for (const client::GroupMember& member : group.members) wanted.insert(member.topics.begin(), member.topics.end());
  if (!wanted.empty()) NARU_CO_TRY(co_await client.refresh({wanted.begin(), wanted.end()}));
  std::vector<std::string> missing;
  for (const std::string& topic : wanted) {
    const client::TopicInfo* known = client.metadata().find_topic(topic);
    if (known == nullptr || known->error == ErrorCode::unknown_topic_or_partition) missing.push_back(topic);
  }
  co_return missing;
}

// Ends as soon as the group has committed something.
Task<Result<Movement>> watch(CommandContext& context, client::ClusterClient& client, const GroupFacts& facts,
                             Duration patience) {
  const MonotonicTime begin = context.seams.clock.now();
  Progress progress(context);
  Movement movement;
  while (movement.records == 0 && movement.watched < patience) {
    if (progress.due()) progress.show(fmt::format("watching whether it moves for {}", format_age(patience)));
    ignore(co_await sleep_until(context.seams.scheduler,
                                context.seams.clock.now() + std::min(kBetweenLooks, patience - movement.watched)));
    NARU_CO_TRY_ASSIGN(const auto committed, co_await client::fetch_group_offsets(client, facts.group.id));
    for (const PartitionProgress& partition : facts.partitions) {
      const auto now = committed.find(partition.partition);
      if (now == committed.end()) continue;
      movement.records += std::max<int64_t>(0, now->second - partition.committed.value_or(partition.bounds.start));
    }
    movement.watched = context.seams.clock.now() - begin;
  }
  co_return movement;
}

Task<Result<std::vector<BlockingTransaction>>> find_still_pending(
    client::ClusterClient& client, const std::string& group_id,
    const std::map<client::TopicPartition, ProducerId>& before) {
  NARU_CO_TRY_ASSIGN(auto pending, co_await client::find_pending_offsets(client, group_id));
  std::erase_if(pending, [&before](const auto& each) {
    const auto known = before.find(each.first);
    return known == before.end() || known->second != each.second;
  });
  if (pending.empty()) co_return std::vector<BlockingTransaction>();
  co_return co_await find_blocking_offsets(client, pending);
}

Task<Result<Reason>> find_reason(CommandContext& context, client::ClusterClient& client, const GroupWhyFlags& flags) {
  GroupFacts facts;
  auto group = co_await client::describe_group(client, flags.name, Duration::zero());
  if (!group && client::coordinator_may_answer_soon(group.error().code()))
    co_return explain_silence(flags.name, group.error());
  if (!group) co_return failure(std::move(group).error());
  facts.group = std::move(*group);
  NARU_CO_TRY_ASSIGN(facts.partitions, co_await find_progress(client, facts.group));
  NARU_CO_TRY_ASSIGN(facts.missing_topics, co_await find_missing_topics(client, facts.group));
  co_await find_record_times(client, facts.partitions);
  NARU_CO_TRY_ASSIGN(const auto pending, co_await client::find_pending_offsets(client, flags.name));
  facts.has_pending_offsets = !pending.empty();
  if (is_worth_watching(facts)) {
    NARU_CO_TRY_ASSIGN(facts.movement, co_await watch(context, client, facts, flags.watch));
    // Whoever reads committed records is at an open transaction all the time, and moves on when it ends.
    if (facts.movement->records == 0) facts.blocking = co_await find_blocking(client, facts.partitions);
    if (facts.movement->records == 0 && facts.blocking.empty()) {
      NARU_CO_TRY_ASSIGN(facts.blocking, co_await find_still_pending(client, flags.name, pending));
    }
  }
  facts.now = context.seams.clock.wall_now_ms();
  co_return explain(facts);
}

std::string reason_as_json(const std::string& group_id, const Reason& reason) {
  JsonText json;
  json.open_object().member("group", group_id).member("reason", reason.word).member("sentence", reason.sentence);
  json.key("evidence").open_array();
  for (const std::string& line : reason.evidence) json.value(line);
  return json.close_array().close_object().take();
}

}  // namespace

Task<ExitCode> group_why(CommandContext& context, GroupWhyFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto reason = co_await find_reason(context, client, flags);
  if (!reason) co_return fail(context, reason.error());
  if (context.common.json) {
    print(context, reason_as_json(flags.name, *reason));
    co_return ExitCode::ok;
  }
  std::string text = reason->sentence + "\n";
  for (const std::string& line : reason->evidence) text += fmt::format("  {}\n", line);
  print(context, text);
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
