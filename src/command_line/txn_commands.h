// `naru txn ...`. Each command in its own file.
#pragma once

#include "client/transaction_admin.h"
#include "command_line/command_context.h"
#include "command_line/json_text.h"

namespace naru::command_line {

Task<ExitCode> txn_list(CommandContext& context, TxnListFlags flags);
Task<ExitCode> txn_describe(CommandContext& context, TxnDescribeFlags flags);
Task<ExitCode> txn_abort(CommandContext& context, TxnAbortFlags flags);

// Members of an object that describes one, the same wherever one is shown; without its id, state and partitions.
void add_transaction(JsonText& json, const client::TransactionDescription& transaction, WallTimeMs now);
// What to do about one that is stuck; empty if it is not.
std::string advice_for(const client::TransactionDescription& transaction, WallTimeMs now);

}  // namespace naru::command_line
