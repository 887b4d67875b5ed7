#include <algorithm>

#include "command_line/open_transactions.h"
#include "command_line/table.h"
#include "command_line/txn_commands.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

using client::ListedTransaction;
using client::TransactionDescription;

constexpr auto kRightAligned = Table::Align::right;

struct TransactionRow {
  ListedTransaction listed;
  std::optional<TransactionDescription> described;  // none: its coordinator does not tell
};
using TransactionRows = std::map<std::string, TransactionRow>;

struct StuckTransactions {
  TransactionRows rows;
  size_t unfinished = 0;  // all that are open or being ended, stuck or not
  OpenTransactions open;
  std::vector<OpenTransaction> hanging;
  size_t undecided = 0;  // open in a partition, and perhaps hanging: not all coordinators could be asked
};

Task<Result<TransactionRows>> find_transactions(CommandContext& context, client::ClusterClient& client,
                                                std::vector<std::string> states) {
  NARU_CO_TRY_ASSIGN(auto listed,
                     co_await client::list_transactions(client, {.states = std::move(states), .producer_ids = {}}));
  TransactionRows rows;
  std::map<BrokerId, std::vector<std::string>> by_coordinator;
  for (ListedTransaction& transaction : listed) {
    by_coordinator[transaction.coordinator].push_back(transaction.id);
    const std::string id = transaction.id;
    rows[id].listed = std::move(transaction);
  }
  for (const auto& [coordinator, ids] : by_coordinator) {
    auto described = co_await client::describe_transactions(client, coordinator, ids);
    if (!described) {  // a hole in the table, not the end of it
      note(context, printable(described.error().message()));
      continue;
    }
    for (TransactionDescription& transaction : *described) {
      if (const auto row = rows.find(transaction.id); row != rows.end()) row->second.described = std::move(transaction);
    }
  }
  co_return rows;
}

Task<Result<std::vector<client::TopicPartition>>> find_all_partitions(client::ClusterClient& client) {
  NARU_CO_TRY(co_await client.refresh_all());
  std::vector<client::TopicPartition> all;
  for (const client::TopicInfo& topic : client.metadata().topics) {
    for (const client::PartitionInfo& partition : topic.partitions) all.push_back({topic.name, partition.index});
  }
  co_return all;
}

Task<Result<StuckTransactions>> find_stuck(CommandContext& context, client::ClusterClient& client) {
  StuckTransactions found;
  NARU_CO_TRY_ASSIGN(found.rows,
                     co_await find_transactions(context, client, {"Ongoing", "PrepareCommit", "PrepareAbort"}));
  found.unfinished = found.rows.size();
  const WallTimeMs now = context.seams.clock.wall_now_ms();
  std::erase_if(found.rows, [now](const auto& row) {
    return !row.second.described || stuck(*row.second.described, now) == Stuck::no;
  });
  NARU_CO_TRY_ASSIGN(auto partitions, co_await find_all_partitions(client));
  found.open = co_await find_open_transactions(client, std::move(partitions));
  for (const OpenTransaction& transaction : found.open.all) {
    if (found.open.is_hanging(transaction)) {
      found.hanging.push_back(transaction);
    } else if (!transaction.known) {
      ++found.undecided;
    }
  }
  co_return found;
}

std::string transactions_as_table(const TransactionRows& rows, WallTimeMs now) {
  Table table({{"ID"},
               {"STATE"},
               {"PRODUCER", kRightAligned},
               {"EPOCH", kRightAligned},
               {"AGE", kRightAligned},
               {"TIMEOUT", kRightAligned},
               {"PARTITIONS", kRightAligned},
               {"COORDINATOR", kRightAligned}});
  for (const auto& [id, row] : rows) {
    const std::string producer = std::to_string(row.listed.producer_id.value());
    const std::string coordinator = std::to_string(row.listed.coordinator.value());
    if (!row.described) {
      table.add({id, row.listed.state, producer, "-", "-", "-", "-", coordinator});
      continue;
    }
    const TransactionDescription& transaction = *row.described;
    const bool has_age = transaction.is_unfinished() && transaction.start >= 0;
    table.add({id, transaction.state, std::to_string(transaction.producer.id.value()),
               std::to_string(transaction.producer.epoch.value()),
               has_age ? format_age(age_of(transaction.start, now)) : "-", format_age(transaction.timeout),
               std::to_string(transaction.partitions.size()), coordinator});
  }
  return table.render();
}

std::string hanging_as_table(const std::vector<OpenTransaction>& hanging, WallTimeMs now) {
  Table table({{"TOPIC"},
               {"PARTITION", kRightAligned},
               {"PRODUCER", kRightAligned},
               {"EPOCH", kRightAligned},
               {"START", kRightAligned},
               {"LAST RECORD", kRightAligned}});
  std::string advice;
  for (const OpenTransaction& transaction : hanging) {
    const client::PartitionProducer& producer = transaction.producer;
    table.add({transaction.partition.topic, std::to_string(transaction.partition.partition.value()),
               std::to_string(producer.producer.id.value()), std::to_string(producer.producer.epoch.value()),
               std::to_string(producer.transaction_start.value()),
               producer.last_timestamp < 0 ? "-" : format_age(age_of(producer.last_timestamp, now))});
    advice += fmt::format("  {}\n", abort_command(transaction));
  }
  return fmt::format("open in a partition, and no coordinator knows them:\n{}they end only by hand:\n{}",
                     table.render(), advice);
}

void add_rows(JsonText& json, const TransactionRows& rows, WallTimeMs now) {
  json.open_array();
  for (const auto& [id, row] : rows) {
    json.open_object().member("id", id);
    const TransactionDescription unknown{.id = id,
                                         .state = row.listed.state,
                                         .producer = {.id = row.listed.producer_id},
                                         .coordinator = row.listed.coordinator};
    const TransactionDescription transaction = row.described.value_or(unknown);
    json.member("state", transaction.state);
    add_transaction(json, transaction, now);
    json.member("partitions", row.described ? std::optional(transaction.partitions.size()) : std::nullopt);
    json.close_object();
  }
  json.close_array();
}

std::string stuck_as_json(const StuckTransactions& found, WallTimeMs now) {
  JsonText json;
  json.open_object().key("transactions");
  add_rows(json, found.rows, now);
  json.key("hanging").open_array();
  for (const OpenTransaction& transaction : found.hanging) {
    const client::PartitionProducer& producer = transaction.producer;
    json.open_object().member("topic", transaction.partition.topic);
    json.member("partition", transaction.partition.partition.value());
    json.member("producer_id", producer.producer.id.value()).member("producer_epoch", producer.producer.epoch.value());
    json.member("start_offset", producer.transaction_start.value());
    json.member("last_timestamp", producer.last_timestamp < 0 ? std::nullopt : std::optional(producer.last_timestamp));
    json.member("command", abort_command(transaction)).close_object();
  }
  json.close_array().member("unknown_partitions", found.open.unknown_partitions.size());
  return json.close_object().take();
}

std::string stuck_as_text(const StuckTransactions& found, WallTimeMs now) {
  if (found.rows.empty() && found.hanging.empty() && found.undecided > 0) return "";
  if (found.rows.empty() && found.hanging.empty()) {
    const std::string in_progress = found.unfinished == 0
                                        ? "none is in progress"
                                        : fmt::format("{} {} in progress, none for too long", found.unfinished,
                                                      found.unfinished == 1 ? "is" : "are");
    return fmt::format("no transaction is stuck: {}, and none hangs in a partition\n", in_progress);
  }
  std::string text;
  if (!found.rows.empty()) text = transactions_as_table(found.rows, now);
  for (const auto& [id, row] : found.rows) text += advice_for(*row.described, now);
  if (!found.rows.empty() && !found.hanging.empty()) text += "\n";
  if (!found.hanging.empty()) text += hanging_as_table(found.hanging, now);
  return text;
}

Task<ExitCode> list_stuck(CommandContext& context) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto found = co_await find_stuck(context, client);
  if (!found) co_return fail(context, found.error());
  if (const auto& unknown = found->open.unknown_partitions; !unknown.empty()) {
    note(context,
         printable(fmt::format("{} could not be looked at: {}",
                               counted(static_cast<int64_t>(unknown.size()), "partition"), unknown.front().message())));
  }
  const WallTimeMs now = context.seams.clock.wall_now_ms();
  print(context, context.common.json ? stuck_as_json(*found, now) : stuck_as_text(*found, now));
  if (found->undecided > 0) co_return fail(context, found->open.coordinators);
  co_return ExitCode::ok;
}

}  // namespace

Task<ExitCode> txn_list(CommandContext& context, TxnListFlags flags) {
  if (flags.stuck) co_return co_await list_stuck(context);
  client::ClusterClient client(context.seams, client_options(context));
  const auto rows = co_await find_transactions(context, client, flags.states);
  if (!rows) co_return fail(context, rows.error());
  const WallTimeMs now = context.seams.clock.wall_now_ms();
  if (context.common.json) {
    JsonText json;
    add_rows(json, *rows, now);
    print(context, json.take());
  } else if (rows->empty()) {
    print(context, flags.states.empty()
                       ? "there are no transactional ids; a producer with a transactional.id makes one\n"
                       : "there are no transactions in this state\n");
  } else {
    print(context, transactions_as_table(*rows, now));
  }
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
