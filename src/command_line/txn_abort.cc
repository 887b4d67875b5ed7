#include <algorithm>

#include "command_line/group_progress.h"
#include "command_line/open_transactions.h"
#include "command_line/txn_commands.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

using client::TransactionDescription;

std::string_view why_not_aborted(std::string_view state) {
  if (!client::is_being_ended(state)) return "nothing is open";
  return state == "PrepareCommit" ? "the transaction is being committed, which nothing can undo"
                                  : "the transaction is being aborted already";
}

Status nothing_to_abort(const TransactionDescription& transaction) {
  return error(ErrorCode::invalid_txn_state,
               "transactional id {}: {} (its state is {}); with --fence its producer is shut out all the same",
               transaction.id, why_not_aborted(transaction.state), transaction.state);
}

std::string what_happened(const TransactionDescription& before, WallTimeMs now) {
  const std::string where = partitions_text(before.partitions);
  const std::string age = before.start < 0 ? "" : fmt::format(" for {}", format_age(age_of(before.start, now)));
  if (client::is_ongoing(before.state))
    return fmt::format("aborted the transaction of {}, which was open{} in {}", before.id, age,
                       before.partitions.empty() ? "no partition" : where);
  if (client::is_being_ended(before.state))
    return fmt::format("the transaction of {} was already being {} in {}, and has ended", before.id,
                       before.state == "PrepareCommit" ? "committed" : "aborted", where);
  return fmt::format("nothing of {} was open", before.id);
}

void report_abort(CommandContext& context, const TransactionDescription& before) {
  const WallTimeMs now = context.seams.clock.wall_now_ms();
  if (!context.common.json) {
    print(context, printable(what_happened(before, now)) + "\n");
    print(context, fmt::format("its producer ({}) is fenced: what it still sends is refused, and it has to begin anew "
                               "(initTransactions)\n",
                               producer_text(before.producer)));
    return;
  }
  JsonText json;
  json.open_object().member("id", before.id).member("state_before", before.state);
  json.member("aborted", client::is_ongoing(before.state));
  json.key("partitions").open_array();
  for (const client::TopicPartition& partition : before.partitions) {
    json.open_object().member("topic", partition.topic).member("partition", partition.partition.value());
    json.close_object();
  }
  json.close_array().key("fenced").open_object().member("producer_id", before.producer.id.value());
  json.member("producer_epoch", before.producer.epoch.value()).close_object();
  print(context, json.close_object().take());
}

Task<ExitCode> abort_known(CommandContext& context, const TxnAbortFlags& flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto before = co_await client::describe_transaction(client, flags.id);
  if (!before) co_return fail(context, before.error());
  if (!client::is_ongoing(before->state) && !flags.fence) co_return fail(context, nothing_to_abort(*before));
  const auto fenced = co_await client::fence_producer(client, flags.id, before->timeout);
  if (!fenced) co_return fail(context, fenced.error());
  report_abort(context, *before);
  co_return ExitCode::ok;
}

// The transaction that hangs, or why nothing may be done about it.
Task<Result<OpenTransaction>> find_hanging(client::ClusterClient& client, client::TopicPartition partition,
                                           ProducerId producer_id) {
  NARU_CO_TRY(co_await client.refresh({partition.topic}));
  const OpenTransactions open = co_await find_open_transactions(client, {partition});
  if (!open.unknown_partitions.empty()) co_return failure(open.unknown_partitions.front());
  const auto found = std::ranges::find(
      open.all, producer_id, [](const OpenTransaction& transaction) { return transaction.producer.producer.id; });
  if (found == open.all.end()) {
    co_return failure(ErrorCode::invalid_txn_state,
                      "producer {} has no transaction open in {}; `naru txn list --stuck` shows those that hang",
                      producer_id, partition.to_string());
  }
  if (found->known) {
    co_return failure(ErrorCode::invalid_txn_state,
                      "the transaction of producer {} in {} does not hang: it is that of transactional id {}, {} at "
                      "broker {}; `{}` ends it in all of its partitions",
                      producer_id, partition.to_string(), found->known->id, found->known->state,
                      found->known->coordinator, abort_command(found->known->id));
  }
  NARU_CO_TRY(open.coordinators);
  co_return *found;
}

Task<ExitCode> abort_hanging(CommandContext& context, client::TopicPartition partition, ProducerId producer_id) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto hanging = co_await find_hanging(client, partition, producer_id);
  if (!hanging) co_return fail(context, hanging.error());
  const client::PartitionProducer& producer = hanging->producer;
  const Status aborted = co_await client::abort_in_partition(client, partition, producer);
  if (!aborted.ok()) co_return fail(context, aborted);
  if (context.common.json) {
    JsonText json;
    json.open_object().member("topic", partition.topic).member("partition", partition.partition.value());
    json.member("producer_id", producer.producer.id.value()).member("producer_epoch", producer.producer.epoch.value());
    json.member("start_offset", producer.transaction_start.value());
    print(context, json.close_object().take());
  } else {
    print(context,
          printable(fmt::format("aborted what {} had open in {} from offset {} on", producer_text(producer.producer),
                                partition.to_string(), producer.transaction_start)) +
              "\n");
  }
  co_return ExitCode::ok;
}

}  // namespace

Task<ExitCode> txn_abort(CommandContext& context, TxnAbortFlags flags) {
  if (!flags.id.empty()) co_return co_await abort_known(context, flags);
  co_return co_await abort_hanging(context, {flags.topic, *flags.partition}, *flags.producer_id);
}

}  // namespace naru::command_line
