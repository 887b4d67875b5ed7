#include "command_line/group_reasons.h"

#include <algorithm>

#include <fmt/format.h>

#include "command_line/command_context.h"
#include "command_line/group_reconciliation.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

using client::GroupDescription;
using client::GroupMember;

constexpr size_t kLinesOfEvidence = 3;

std::string subject(const GroupDescription& group) {
  return fmt::format("group {}", printable(group.id));
}

std::string records_text(int64_t records) {
  return fmt::format("{} record{}", format_count(static_cast<uint64_t>(records)), records == 1 ? "" : "s");
}

std::string lag_text(const GroupFacts& facts) {
  const Lag lag = total_lag(facts.partitions, facts.now);
  std::string text = records_text(lag.records);
  if (lag.behind) text += fmt::format(" (the oldest is {} old)", format_age(*lag.behind));
  return text;
}

std::string owner_text(const GroupFacts& facts, const PartitionProgress& partition) {
  if (facts.group.members.empty()) return "";
  if (partition.owner.empty()) return ", which no member reads";
  const GroupMember* owner = facts.group.find_member(partition.owner);
  return fmt::format(", read by {}", owner == nullptr ? printable(partition.owner) : member_name(*owner));
}

// One line for each partition with a number above 0, the largest first.
std::vector<std::string> worst_partitions(const GroupFacts& facts, int64_t (*number)(const PartitionProgress&),
                                          std::string_view words) {
  std::vector<const PartitionProgress*> worst;
  for (const PartitionProgress& partition : facts.partitions) {
    if (number(partition) > 0) worst.push_back(&partition);
  }
  std::ranges::sort(worst, [number](const PartitionProgress* a, const PartitionProgress* b) {
    return std::pair(number(*b), a->partition) < std::pair(number(*a), b->partition);
  });
  std::vector<std::string> lines;
  for (const PartitionProgress* partition : worst) {
    if (lines.size() == kLinesOfEvidence) {
      lines.push_back(
          fmt::format("and {}", counted(static_cast<int64_t>(worst.size() - lines.size()), "more partition")));
      break;
    }
    lines.push_back(fmt::format("{}: {} {}{}", printable(partition->partition.to_string()),
                                records_text(number(*partition)), words, owner_text(facts, *partition)));
  }
  return lines;
}

std::vector<std::string> where_behind(const GroupFacts& facts) {
  return worst_partitions(
      facts, [](const PartitionProgress& partition) { return partition.lag().value_or(0); }, "behind");
}

Reason explain_rebalance(const GroupFacts& facts) {
  const GroupDescription& group = facts.group;
  const bool joining = group.state == "PreparingRebalance";
  const std::string_view task = joining ? "to join again" : "to fetch its assignment";
  Reason reason{.word = "rebalancing",
                .sentence = group.state_since < 0
                                ? fmt::format("{} is rebalancing", subject(group))
                                : fmt::format("{} has been rebalancing{}", subject(group), since_text(facts)),
                .evidence = {}};
  std::vector<std::string> names;
  for (const std::string& id : group.waiting_for) {
    const GroupMember* member = group.find_member(id);
    names.push_back(member == nullptr ? fmt::format("{} (new)", printable(id)) : member_name(*member));
  }
  if (names.empty()) {
    reason.sentence += ", waiting for more members";
    return reason;
  }
  if (names.size() == 1) {
    reason.sentence += fmt::format(", waiting for member {} {}", names[0], task);
  } else {
    reason.sentence += fmt::format(", waiting for {} of {} members {}", names.size(), group.members.size(), task);
    for (size_t i = 0; i < std::min(names.size(), kLinesOfEvidence); ++i) reason.evidence.push_back(names[i]);
    if (names.size() > kLinesOfEvidence)
      reason.evidence.push_back(fmt::format("and {} more", names.size() - kLinesOfEvidence));
  }
  reason.evidence.emplace_back(
      "a member that stays away is dropped at the end of its rebalance timeout (max.poll.interval.ms), or earlier when "
      "its session ends (session.timeout.ms)");
  return reason;
}

Reason explain_empty(const GroupFacts& facts) {
  const bool committed = std::ranges::any_of(facts.partitions, [](const auto& p) { return p.committed.has_value(); });
  Reason reason{.word = "no_members",
                .sentence = fmt::format("{} has had no members{}", subject(facts.group), since_text(facts)),
                .evidence = {}};
  if (facts.group.state_since < 0) reason.sentence = fmt::format("{} has no members", subject(facts.group));
  if (!committed) {
    reason.sentence += "; it has no committed offsets either";
  } else if (total_lag(facts.partitions, facts.now).records == 0) {
    reason.sentence += "; it has read everything";
  } else {
    reason.sentence += fmt::format("; it is behind by {}", lag_text(facts));
  }
  reason.evidence = where_behind(facts);
  return reason;
}

bool nobody_has_partitions(const GroupDescription& group) {
  return std::ranges::all_of(group.members,
                             [](const GroupMember& m) { return m.partitions.empty() && m.unread_bytes == 0; });
}

Reason explain_no_partitions(const GroupFacts& facts) {
  const size_t count = facts.group.members.size();
  Reason reason{.word = "no_partitions", .sentence = subject(facts.group) + ": ", .evidence = {}};
  reason.sentence +=
      count == 1 ? "its only member has no partition" : fmt::format("none of its {} members has a partition", count);
  if (!facts.missing_topics.empty()) {
    const bool one = facts.missing_topics.size() == 1;
    reason.sentence +=
        fmt::format(": topic{} {} {} not exist", one ? "" : "s",
                    printable(fmt::format("{}", fmt::join(facts.missing_topics, ", "))), one ? "does" : "do");
  }
  return reason;
}

int64_t lost_records(const GroupFacts& facts) {
  int64_t lost = 0;
  for (const PartitionProgress& partition : facts.partitions) lost += partition.lost();
  return lost;
}

const PartitionProgress* find_offline(const GroupFacts& facts) {
  const auto found = std::ranges::find(facts.partitions, PartitionBounds::State::offline,
                                       [](const PartitionProgress& partition) { return partition.bounds.state; });
  return found == facts.partitions.end() ? nullptr : &*found;
}

bool somebody_is_behind(const GroupFacts& facts) {
  return std::ranges::any_of(facts.partitions, [](const PartitionProgress& partition) {
    return !partition.owner.empty() && partition.lag().value_or(0) > 0;
  });
}

std::string_view id_of(const BlockingTransaction& blocking) {
  return blocking.open.known ? std::string_view(blocking.open.known->id) : std::string_view();
}

std::string transaction_text(const BlockingTransaction& blocking, WallTimeMs now) {
  const std::string producer = producer_text(blocking.open.producer.producer);
  if (blocking.is_hanging) return fmt::format("that of {}, which no coordinator knows", producer);
  if (!blocking.open.known) return fmt::format("that of {}", producer);
  std::string text = fmt::format("that of transactional id {} ({})", printable(id_of(blocking)), producer);
  if (!blocking.description) return text + fmt::format(", {}", printable(blocking.open.known->state));
  const client::TransactionDescription& transaction = *blocking.description;
  text += fmt::format(", {}", printable(transaction.state));
  if (transaction.start >= 0)
    text +=
        fmt::format(" for {} (since {})", format_age(age_of(transaction.start, now)), format_time(transaction.start));
  return text + fmt::format(", with a timeout of {}", format_age(transaction.timeout));
}

// What can be done about it.
std::string remedy_for(const BlockingTransaction& blocking) {
  if (blocking.is_hanging) return fmt::format("`{}` ends it", abort_command(blocking.open));
  if (!blocking.open.known && blocking.has_offset) return "`naru txn list --stuck` looks for transactions that hang";
  if (!blocking.open.known) return "`naru txn list` shows who has transactions, once all brokers answer";
  const std::string look = fmt::format("`{}` tells more", describe_command(id_of(blocking)));
  if (client::is_being_ended(blocking.open.known->state)) return look;
  return fmt::format("{}, `{}` ends it and shuts its producer out", look, abort_command(id_of(blocking)));
}

Reason explain_open_transaction(const GroupFacts& facts) {
  const BlockingTransaction& first = facts.blocking.front();
  const client::PartitionProducer& producer = first.open.producer;
  const std::string where = printable(first.open.partition.to_string());
  const std::string_view how = first.has_offset ? "that commits its offset of" : "in";
  Reason reason{.word = "open-transaction",
                .sentence = fmt::format("{} waits for an open transaction {} {}: {}", subject(facts.group), how, where,
                                        transaction_text(first, facts.now)),
                .evidence = {remedy_for(first)}};
  if (first.has_offset) {
    reason.evidence.emplace_back("until it ends, members that come to a partition are not told where to begin there");
  } else {
    std::string begun = fmt::format("it began at offset {} of {}", producer.transaction_start, where);
    if (producer.last_timestamp >= 0)
      begun += fmt::format("; its producer's last record there is {} old",
                           format_age(age_of(producer.last_timestamp, facts.now)));
    reason.evidence.push_back(std::move(begun));
  }
  if (facts.blocking.size() > 1)
    reason.evidence.push_back(
        fmt::format("it waits so in {}", counted(static_cast<int64_t>(facts.blocking.size()), "partition")));
  std::ranges::move(where_behind(facts), std::back_inserter(reason.evidence));
  return reason;
}

Reason explain_lag(const GroupFacts& facts) {
  const std::string behind = fmt::format("{} is behind by {}", subject(facts.group), lag_text(facts));
  Reason reason{.word = "not_moving", .sentence = behind, .evidence = where_behind(facts)};
  if (!somebody_is_behind(facts)) {
    reason.word = "unread";
    reason.sentence += ", all in partitions that no member reads";
  } else if (facts.movement && facts.movement->records > 0) {
    reason.word = "moving";
    reason.sentence += fmt::format(" and moving: it committed {} in {}", records_text(facts.movement->records),
                                   format_age(facts.movement->watched));
  } else {
    reason.sentence += " and not moving";
    if (facts.movement)
      reason.sentence += fmt::format(": it committed nothing in {}", format_age(facts.movement->watched));
  }
  return reason;
}

Reason explain_no_lag(const GroupFacts& facts) {
  const auto commits = std::ranges::count_if(facts.partitions, [](const auto& p) { return p.committed.has_value(); });
  if (commits == 0) {
    return {.word = "no_offsets",
            .sentence = fmt::format("{} has {} and has not committed an offset yet", subject(facts.group),
                                    counted(static_cast<int64_t>(facts.group.members.size()), "member")),
            .evidence = {}};
  }
  return {.word = "caught_up",
          .sentence = fmt::format("{} has read everything: it is at the end of {}", subject(facts.group),
                                  counted(commits, "partition")),
          .evidence = {}};
}

// The most certain and most surprising first.
Reason explain_stable(const GroupFacts& facts) {
  if (nobody_has_partitions(facts.group)) return explain_no_partitions(facts);
  if (const PartitionProgress* offline = find_offline(facts)) {
    return {.word = "offline",
            .sentence = fmt::format("{} reads {}, which has no leader", subject(facts.group),
                                    printable(offline->partition.to_string())),
            .evidence = {}};
  }
  if (const int64_t lost = lost_records(facts); lost > 0) {
    return {.word = "lost_records",
            .sentence = fmt::format("{} has lost {} to retention: its committed offsets are below the log start",
                                    subject(facts.group), records_text(lost)),
            .evidence = worst_partitions(facts, [](const PartitionProgress& p) { return p.lost(); }, "lost")};
  }
  const bool moves = facts.movement && facts.movement->records > 0;
  if (!facts.blocking.empty() && !moves) return explain_open_transaction(facts);
  return total_lag(facts.partitions, facts.now).records > 0 ? explain_lag(facts) : explain_no_lag(facts);
}

void add_idle_members(const GroupFacts& facts, Reason& reason) {
  const auto idle = std::ranges::count_if(
      facts.group.members, [](const GroupMember& m) { return m.partitions.empty() && m.unread_bytes == 0; });
  if (idle == 0 || reason.word == "no_partitions") return;
  reason.evidence.push_back(fmt::format("{} of {} members {} no partition: there are more members than partitions",
                                        idle, facts.group.members.size(), idle == 1 ? "has" : "have"));
}

void add_uncommitted(const GroupFacts& facts, Reason& reason) {
  const auto count = std::ranges::count_if(facts.partitions, [](const PartitionProgress& p) {
    return !p.committed && p.is_online() && p.bounds.end > p.bounds.start;
  });
  if (count > 0)
    reason.evidence.push_back(
        fmt::format("nothing is committed for {} with records", counted(static_cast<int64_t>(count), "partition")));
}

bool is_rebalancing(const GroupDescription& group) {
  return group.state == "PreparingRebalance" || group.state == "CompletingRebalance" || is_reconciling(group);
}

}  // namespace

std::string since_text(const GroupFacts& facts) {
  const WallTimeMs since = facts.group.state_since;
  if (since < 0) return "";
  return fmt::format(" for {} (since {})", format_age(Milliseconds(std::max<int64_t>(0, facts.now - since))),
                     format_time(since));
}

bool is_worth_watching(const GroupFacts& facts) {
  return !facts.group.members.empty() && !is_rebalancing(facts.group) && lost_records(facts) == 0 &&
         find_offline(facts) == nullptr && (facts.has_pending_offsets || somebody_is_behind(facts));
}

Reason explain(const GroupFacts& facts) {
  if (is_reconciling(facts.group)) return explain_reconciliation(facts);
  if (is_rebalancing(facts.group)) return explain_rebalance(facts);
  if (facts.group.members.empty()) return explain_empty(facts);
  Reason reason = explain_stable(facts);
  add_idle_members(facts, reason);
  add_uncommitted(facts, reason);
  return reason;
}

Reason explain_silence(const std::string& group_id, const Status& answer) {
  const bool loading = answer == ErrorCode::coordinator_load_in_progress;
  return {.word = loading ? "loading" : "no_coordinator",
          .sentence =
              fmt::format("group {} waits for its coordinator, {}", printable(group_id),
                          loading ? "which is reading the group's offsets after a start" : "and no broker is that now"),
          .evidence = {printable(answer.message())}};
}

}  // namespace naru::command_line
