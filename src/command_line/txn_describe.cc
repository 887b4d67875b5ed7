#include "command_line/group_progress.h"
#include "command_line/open_transactions.h"
#include "command_line/txn_commands.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

std::string transaction_as_text(const client::TransactionDescription& transaction, const std::string& address,
                                WallTimeMs now) {
  std::string title = fmt::format("transactional id {}: {}", transaction.id, transaction.state);
  if (transaction.is_unfinished() && transaction.start >= 0)
    title +=
        fmt::format(", begun {} ago ({})", format_age(age_of(transaction.start, now)), format_time(transaction.start));
  if (client::is_being_ended(transaction.state) && transaction.last_update >= 0)
    title += fmt::format(", being ended for {}", format_age(age_of(transaction.last_update, now)));
  title += fmt::format("; {}; timeout {}; coordinated by broker {} ({})", producer_text(transaction.producer),
                       format_age(transaction.timeout), transaction.coordinator, address);
  std::string text = printable(title) + "\n";
  text += transaction.partitions.empty()
              ? "no partitions\n"
              : fmt::format("partitions: {}\n", printable(partitions_text(transaction.partitions)));
  return text + advice_for(transaction, now);
}

std::string transaction_as_json(const client::TransactionDescription& transaction, WallTimeMs now) {
  JsonText json;
  json.open_object().member("id", transaction.id).member("state", transaction.state);
  add_transaction(json, transaction, now);
  json.key("partitions").open_array();
  for (const client::TopicPartition& partition : transaction.partitions) {
    json.open_object().member("topic", partition.topic).member("partition", partition.partition.value());
    json.close_object();
  }
  return json.close_array().close_object().take();
}

}  // namespace

void add_transaction(JsonText& json, const client::TransactionDescription& transaction, WallTimeMs now) {
  const auto time = [](WallTimeMs known) { return known < 0 ? std::nullopt : std::optional(known); };
  json.member("producer_id", transaction.producer.id.value());
  json.member("producer_epoch", transaction.producer.epoch.value());
  json.member("timeout_seconds", std::chrono::duration<double>(transaction.timeout).count());
  json.member("start", time(transaction.start)).member("last_update", time(transaction.last_update));
  const bool has_age = transaction.is_unfinished() && transaction.start >= 0;
  const auto age = std::chrono::duration<double>(age_of(transaction.start, now)).count();
  json.member("age_seconds", has_age ? std::optional(age) : std::nullopt);
  json.member("stuck", word_for(stuck(transaction, now))).member("coordinator", transaction.coordinator.value());
}

std::string advice_for(const client::TransactionDescription& transaction, WallTimeMs now) {
  const std::string name = printable(transaction.id);
  switch (stuck(transaction, now)) {
    case Stuck::no:
      return "";
    case Stuck::overdue:
      return fmt::format(
          "{} has been open for longer than its timeout, and its coordinator (broker {}) has not ended it; `{}` does\n",
          name, transaction.coordinator, abort_command(transaction.id));
    case Stuck::ending:
      return fmt::format(
          "{} is decided, but not every partition of it has taken that: `{}` names them, `naru cluster status` those "
          "without a leader\n",
          name, describe_command(transaction.id));
  }
  return "";
}

Task<ExitCode> txn_describe(CommandContext& context, TxnDescribeFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto transaction = co_await client::describe_transaction(client, flags.id);
  if (!transaction) co_return fail(context, transaction.error());
  const client::BrokerInfo* broker = client.metadata().find_broker(transaction->coordinator);
  const std::string address = broker == nullptr ? "" : broker->address.to_string();
  const WallTimeMs now = context.seams.clock.wall_now_ms();
  print(context,
        context.common.json ? transaction_as_json(*transaction, now) : transaction_as_text(*transaction, address, now));
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
