#include "broker/handlers/transaction_verdicts.h"

#include <gtest/gtest.h>

#include <set>

namespace naru {
namespace {

using CodeSet = std::set<ErrorCode>;

// At which clients give up, in one way or another: only what the coordinator has decided may lead to one.
const CodeSet kVerdicts{ErrorCode::producer_fenced,       ErrorCode::invalid_producer_epoch,
                        ErrorCode::transaction_abortable, ErrorCode::invalid_producer_id_mapping,
                        ErrorCode::invalid_txn_state,     ErrorCode::invalid_request,
                        ErrorCode::policy_violation};

TEST(TransactionVerdicts, AProducerIsToldWhatItKnowsAndToComeAgainUnlessItIsAVerdict) {
  const CodeSet known{ErrorCode::invalid_producer_epoch, ErrorCode::invalid_producer_id_mapping,
                      ErrorCode::invalid_txn_state,      ErrorCode::invalid_request,
                      ErrorCode::policy_violation,       ErrorCode::transaction_abortable};
  for (const int16_t version : {int16_t{3}, int16_t{10}, int16_t{11}, int16_t{12}}) {
    for (const ErrorRow& row : error_table()) {
      const ErrorCode told = as_produce_error(version, row.code).code();
      if (row.code == ErrorCode::none) {
        EXPECT_EQ(told, ErrorCode::none);
      } else if (kVerdicts.contains(row.code)) {
        EXPECT_TRUE(known.contains(told)) << row.name;
        EXPECT_FALSE(describe(told).retriable) << row.name;
        EXPECT_TRUE(told != ErrorCode::transaction_abortable || version >= 11) << version;
      } else {
        EXPECT_EQ(told, ErrorCode::not_enough_replicas) << row.name << ": nothing was appended, so it comes again";
      }
      EXPECT_EQ(not_answered(Status(row.code)).code(), ErrorCode::not_enough_replicas) << row.name;
    }
  }
}

TEST(TransactionVerdicts, WhoCommitsOffsetsIsToldWhatItKnowsAndToComeAgainUnlessItIsAVerdict) {
  const CodeSet known{ErrorCode::invalid_producer_epoch, ErrorCode::invalid_producer_id_mapping,
                      ErrorCode::invalid_txn_state, ErrorCode::invalid_request, ErrorCode::transaction_abortable};
  for (const int16_t version : {int16_t{0}, int16_t{3}, int16_t{4}, int16_t{5}}) {
    for (const ErrorRow& row : error_table()) {
      const ErrorCode told = as_commit_error(version, row.code);
      if (row.code == ErrorCode::none) {
        EXPECT_EQ(told, ErrorCode::none);
      } else if (kVerdicts.contains(row.code)) {
        EXPECT_TRUE(known.contains(told)) << row.name;
        EXPECT_FALSE(describe(told).retriable) << row.name;
        EXPECT_TRUE(told != ErrorCode::transaction_abortable || version >= 4) << version;
      } else {
        EXPECT_EQ(told, ErrorCode::coordinator_load_in_progress) << row.name << ": nothing was staged";
      }
    }
  }
}

TEST(TransactionVerdicts, WhoMayGoOnIsToldFromWhoMayNot) {
  struct Case {
    ErrorCode verdict, to_old_producer, to_producer, to_old_committer, to_committer;
  };
  using enum ErrorCode;
  const Case cases[] = {
      {producer_fenced, invalid_producer_epoch, invalid_producer_epoch, invalid_producer_epoch, invalid_producer_epoch},
      {invalid_producer_epoch, invalid_producer_epoch, invalid_producer_epoch, invalid_producer_epoch,
       invalid_producer_epoch},
      {transaction_abortable, invalid_txn_state, transaction_abortable, invalid_txn_state, transaction_abortable},
      {invalid_producer_id_mapping, invalid_producer_id_mapping, invalid_producer_id_mapping,
       invalid_producer_id_mapping, invalid_producer_id_mapping},
      {invalid_txn_state, invalid_txn_state, invalid_txn_state, invalid_txn_state, invalid_txn_state},
      {invalid_request, invalid_request, invalid_request, invalid_request, invalid_request},
      {policy_violation, policy_violation, policy_violation, invalid_txn_state, transaction_abortable},
  };
  for (const Case& each : cases) {
    const auto name = describe(each.verdict).name;
    EXPECT_EQ(as_produce_error(kFirstProduceWithAbortable - 1, each.verdict).code(), each.to_old_producer) << name;
    EXPECT_EQ(as_produce_error(kFirstProduceWithAbortable, each.verdict).code(), each.to_producer) << name;
    EXPECT_EQ(as_commit_error(kFirstTxnOffsetCommitWithAbortable - 1, each.verdict), each.to_old_committer) << name;
    EXPECT_EQ(as_commit_error(kFirstTxnOffsetCommitWithAbortable, each.verdict), each.to_committer) << name;
  }
}

}  // namespace
}  // namespace naru
