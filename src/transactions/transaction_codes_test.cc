// Who is told what in which state, as a table.
#include <memory>

#include <gtest/gtest.h>

#include "transactions/transaction_testing.h"

namespace naru {
namespace {

using enum TransactionState;
constexpr auto kCommit = TransactionResult::commit;
constexpr auto kAbort = TransactionResult::abort;
constexpr auto kAllStates = {empty, ongoing, prepare_commit, prepare_abort, complete_commit, complete_abort};

// The id "tx", in this state by what its producer did; there is always one before the present producer.
std::unique_ptr<TestTransactions> in_state(TransactionState state, int16_t version) {
  auto test = std::make_unique<TestTransactions>();
  const ProducerIdentity producer = test->init("tx", test->init("tx"));
  if (state == empty) return test;
  const auto mode = version == kTransactionVersion2 ? AddPartitions::Mode::implicit : AddPartitions::Mode::add;
  EXPECT_EQ(test->add("tx", producer, 0, mode), ErrorCode::none);
  if (state == ongoing) return test;
  const bool is_commit = state == prepare_commit || state == complete_commit;
  EXPECT_EQ(test->end("tx", producer, is_commit ? kCommit : kAbort, version).error, ErrorCode::none);
  if (state == complete_commit || state == complete_abort) test->write_markers();
  EXPECT_EQ(test->state("tx"), state);
  return test;
}

struct EndRow {
  TransactionState state;
  Speaker speaker;
  TransactionResult result;
  ErrorCode expected;
};

ProducerIdentity identity_of(Speaker speaker, const StoredTransaction& stored) {
  switch (speaker) {
    case Speaker::present:
      return present_producer(stored);
    case Speaker::former:
      return stored.last;
    case Speaker::other_epoch:
      return {stored.producer.id, stored.producer.epoch + 1};
    case Speaker::other_id:
      break;
  }
  return {stored.producer.id + 77, stored.producer.epoch};
}

void expect_codes(int16_t version, const std::vector<EndRow>& rows) {
  for (const EndRow& row : rows) {
    const auto test = in_state(row.state, version);
    const StoredTransaction before = test->coordinator->durable_state().at("tx");
    const auto answer = test->end("tx", identity_of(row.speaker, before), row.result, version);
    EXPECT_EQ(answer.error, row.expected)
        << "version " << version << " in " << name_of(row.state) << " speaker " << static_cast<int>(row.speaker)
        << (row.result == kCommit ? " commit: " : " abort: ") << describe(answer.error).name << " instead of "
        << describe(row.expected).name;
    if (answer.error != ErrorCode::none) EXPECT_EQ(test->coordinator->durable_state().at("tx"), before);
  }
}

TEST(TransactionCodes, TheEndInVersion1) {
  using enum Speaker;
  expect_codes(1, {{empty, present, kCommit, ErrorCode::invalid_txn_state},
                   {empty, present, kAbort, ErrorCode::invalid_txn_state},
                   {ongoing, present, kCommit, ErrorCode::none},
                   {ongoing, present, kAbort, ErrorCode::none},
                   {prepare_commit, present, kCommit, ErrorCode::concurrent_transactions},
                   {prepare_commit, present, kAbort, ErrorCode::invalid_txn_state},
                   {prepare_abort, present, kCommit, ErrorCode::invalid_txn_state},
                   {prepare_abort, present, kAbort, ErrorCode::concurrent_transactions},
                   {complete_commit, present, kCommit, ErrorCode::none},
                   {complete_commit, present, kAbort, ErrorCode::invalid_txn_state},
                   {complete_abort, present, kCommit, ErrorCode::invalid_txn_state},
                   {complete_abort, present, kAbort, ErrorCode::none}});
  for (const auto state : kAllStates) {
    expect_codes(1, {{state, former, kCommit, ErrorCode::producer_fenced},
                     {state, former, kAbort, ErrorCode::producer_fenced},
                     {state, other_epoch, kCommit, ErrorCode::producer_fenced},
                     {state, other_id, kAbort, ErrorCode::invalid_producer_id_mapping}});
  }
}

TEST(TransactionCodes, TheEndInVersion2) {
  using enum Speaker;
  expect_codes(2, {{empty, present, kCommit, ErrorCode::invalid_txn_state},
                   {empty, present, kAbort, ErrorCode::none},
                   {empty, former, kCommit, ErrorCode::producer_fenced},
                   {empty, former, kAbort, ErrorCode::producer_fenced},
                   {ongoing, present, kCommit, ErrorCode::none},
                   {ongoing, present, kAbort, ErrorCode::none},
                   {ongoing, former, kCommit, ErrorCode::producer_fenced},
                   {ongoing, former, kAbort, ErrorCode::producer_fenced},
                   {prepare_commit, present, kAbort, ErrorCode::concurrent_transactions},
                   {prepare_commit, former, kCommit, ErrorCode::concurrent_transactions},
                   {prepare_commit, former, kAbort, ErrorCode::invalid_txn_state},
                   {prepare_abort, present, kAbort, ErrorCode::concurrent_transactions},
                   {prepare_abort, former, kCommit, ErrorCode::invalid_txn_state},
                   {prepare_abort, former, kAbort, ErrorCode::concurrent_transactions},
                   {complete_commit, present, kCommit, ErrorCode::invalid_txn_state},
                   {complete_commit, present, kAbort, ErrorCode::none},
                   {complete_commit, former, kCommit, ErrorCode::none},
                   {complete_commit, former, kAbort, ErrorCode::invalid_txn_state},
                   {complete_abort, present, kCommit, ErrorCode::invalid_txn_state},
                   {complete_abort, present, kAbort, ErrorCode::none},
                   {complete_abort, former, kCommit, ErrorCode::invalid_txn_state},
                   {complete_abort, former, kAbort, ErrorCode::none}});
  for (const auto state : kAllStates) {
    expect_codes(2, {{state, other_epoch, kCommit, ErrorCode::producer_fenced},
                     {state, other_id, kAbort, ErrorCode::invalid_producer_id_mapping}});
  }
}

TEST(TransactionCodes, AddingAndVerifying) {
  using Mode = AddPartitions::Mode;
  for (const auto state : kAllStates) {
    SCOPED_TRACE(name_of(state));
    for (const Mode mode : {Mode::add, Mode::implicit, Mode::verify_only}) {
      const auto test = in_state(state, 1);
      const StoredTransaction stored = test->coordinator->durable_state().at("tx");
      const auto code = [&](Speaker speaker) {
        const auto answer = test->add({.transactional_id = "tx",
                                       .producer = identity_of(speaker, stored),
                                       .partitions = {test_partition(0)},
                                       .mode = mode});
        test->advance(2s);
        return answer.value().partitions.at(0);
      };
      EXPECT_EQ(code(Speaker::former), ErrorCode::producer_fenced);
      EXPECT_EQ(code(Speaker::other_epoch), ErrorCode::producer_fenced);
      EXPECT_EQ(code(Speaker::other_id), ErrorCode::invalid_producer_id_mapping);
      const bool is_busy = state == prepare_commit || state == prepare_abort;
      const bool is_missing = mode == Mode::verify_only && state != ongoing;
      EXPECT_EQ(code(Speaker::present), is_busy      ? ErrorCode::concurrent_transactions
                                        : is_missing ? ErrorCode::transaction_abortable
                                                     : ErrorCode::none);
    }
  }
}

TEST(TransactionCodes, OneThatWasTooSlowIsToldWhatItsClientUnderstands) {
  using Mode = AddPartitions::Mode;
  const auto test = in_state(ongoing, kTransactionVersion1);
  const ProducerIdentity slow = test->coordinator->durable_state().at("tx").producer;
  test->advance(61s);
  test->write_markers();
  const auto code = [&](Mode mode, bool may_recover = true) {
    const AddPartitions request{.transactional_id = "tx",
                                .producer = slow,
                                .partitions = {test_partition(0)},
                                .mode = mode,
                                .may_recover = may_recover};
    return test->add(request).value().partitions.at(0);
  };
  EXPECT_EQ(code(Mode::add), ErrorCode::invalid_producer_id_mapping);
  EXPECT_EQ(code(Mode::add, false), ErrorCode::producer_fenced) << "it would abort, and come again as the same";
  EXPECT_EQ(code(Mode::implicit), ErrorCode::transaction_abortable);
  EXPECT_EQ(code(Mode::verify_only), ErrorCode::producer_fenced);
}

TEST(TransactionCodes, AnEpochThatNobodyIsGivenIsJudgedAfterTheId) {
  const auto test = in_state(TransactionState::ongoing, kTransactionVersion1);
  const ProducerId id = test->coordinator->durable_state().at("tx").producer.id;
  const ProducerEpoch nobodys(32767);
  EXPECT_EQ(test->add("tx", {id, nobodys}, 0), ErrorCode::producer_fenced);
  EXPECT_EQ(test->add("tx", {id + 77, nobodys}, 0), ErrorCode::invalid_producer_id_mapping);
  EXPECT_EQ(test->end("tx", {id + 77, nobodys}, kCommit).error, ErrorCode::invalid_producer_id_mapping);
}

TEST(TransactionCodes, NamesThatNobodyKnows) {
  TestTransactions test;
  EXPECT_EQ(test.add("tx", test_producer(1, 0), 0), ErrorCode::invalid_producer_id_mapping);
  EXPECT_EQ(test.add("", test_producer(1, 0), 0), ErrorCode::invalid_request);
  EXPECT_EQ(test.end("tx", test_producer(1, 0), kCommit).error, ErrorCode::invalid_producer_id_mapping);
  EXPECT_EQ(test.end("", test_producer(1, 0), kCommit, 2).error, ErrorCode::invalid_request);
  EXPECT_EQ(test.describe("tx").error, ErrorCode::transactional_id_not_found);
  EXPECT_TRUE(test.log.empty());
}

TEST(TransactionCodes, InitRefusesWhatCannotBe) {
  TestTransactions test;
  const auto code = [&](InitProducer request) {
    request.fresh_id = ProducerId(1);
    return test.init(std::move(request)).value().error;
  };
  EXPECT_EQ(code({.transactional_id = ""}), ErrorCode::invalid_request);
  EXPECT_EQ(code({.transactional_id = std::string(2000, 'x')}), ErrorCode::invalid_request);
  EXPECT_EQ(code({.transactional_id = "tx", .timeout_ms = -1}), ErrorCode::invalid_transaction_timeout);
  EXPECT_EQ(code({.transactional_id = "tx", .timeout_ms = 900'001}), ErrorCode::invalid_transaction_timeout);
  EXPECT_TRUE(test.log.empty());
  EXPECT_EQ(code({.transactional_id = "tx", .timeout_ms = 900'000}), ErrorCode::none);
  EXPECT_EQ(code({.transactional_id = "tx", .expected = test_producer(1, 5)}), ErrorCode::producer_fenced);
  EXPECT_EQ(code({.transactional_id = "tx", .expected = test_producer(2, 0)}), ErrorCode::producer_fenced);
}

// The one whose transaction took too long: it can abort and go on, and cannot commit.
TEST(TransactionCodes, WhoWasTooSlowCanAbortButNotCommit) {
  for (const int16_t version : {kTransactionVersion1, kTransactionVersion2}) {
    SCOPED_TRACE(version);
    const auto test = in_state(ongoing, version);
    const ProducerIdentity slow = test->coordinator->durable_state().at("tx").producer;
    test->advance(60s);
    ASSERT_EQ(test->state("tx"), prepare_abort);
    const ErrorCode no_commit =
        version == kTransactionVersion1 ? ErrorCode::invalid_producer_id_mapping : ErrorCode::transaction_abortable;
    EXPECT_EQ(test->end("tx", slow, kCommit, version).error, no_commit);
    EXPECT_EQ(test->end("tx", slow, kAbort, version).error, ErrorCode::concurrent_transactions);
    test->write_markers();
    EXPECT_EQ(test->end("tx", slow, kCommit, version).error, no_commit);
    const auto aborted = test->end("tx", slow, kAbort, version);
    EXPECT_EQ(aborted.error, ErrorCode::none);
    const ProducerIdentity present{slow.id, slow.epoch + 1};
    if (version == kTransactionVersion2) EXPECT_EQ(aborted.next, present);
    EXPECT_EQ(test->add("tx", slow, 0), ErrorCode::invalid_producer_id_mapping);
    EXPECT_EQ(test->add("tx", slow, 0, AddPartitions::Mode::implicit), ErrorCode::transaction_abortable);
    EXPECT_EQ(test->add("tx", slow, 0, AddPartitions::Mode::verify_only), ErrorCode::producer_fenced);
    EXPECT_EQ(test->init("tx", slow), present);
    EXPECT_EQ(test->init("tx", slow), present) << "asked again";
    EXPECT_EQ(test->add("tx", present, 0), ErrorCode::none);
    EXPECT_EQ(test->end("tx", slow, kAbort, version).error, ErrorCode::producer_fenced) << "about another one now";
  }
}

}  // namespace
}  // namespace naru
