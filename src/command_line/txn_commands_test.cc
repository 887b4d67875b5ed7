// `naru txn ...` as a person types it, at brokers that say what a test wants. tests/system has those with real ones.
#include <gtest/gtest.h>

#include "command_line/command_runner_testing.h"
#include "command_line/scripted_transactions_testing.h"

namespace naru::command_line {
namespace {

class TxnCommandsTest : public CommandRunnerTest {
 protected:
  TxnCommandsTest() : CommandRunnerTest("first:9092") {}

  WallTimeMs ago(Duration age) {
    return seams().clock.wall_now_ms() - std::chrono::duration_cast<Milliseconds>(age).count();
  }
  client::TransactionDescription& add(const std::string& id, std::string state, Duration age) {
    client::TransactionDescription& transaction = cluster_.transactions[id];
    transaction = {
        .id = id,
        .state = std::move(state),
        .producer = {ProducerId(4000 + static_cast<int64_t>(cluster_.transactions.size())), ProducerEpoch(3)},
        .timeout = 60s,
        .start = ago(age),
        .last_update = ago(age),
        .partitions = {cluster_.orders(0), cluster_.orders(1)}};
    return transaction;
  }

  ScriptedTransactions cluster_{world_};
};

TEST_F(TxnCommandsTest, WithoutTransactions) {
  EXPECT_EQ(naru({"txn", "list"}).output,
            "there are no transactional ids; a producer with a transactional.id makes one\n");
  EXPECT_EQ(naru({"txn", "list", "--json"}).output, "[]\n");
  EXPECT_EQ(naru({"txn", "list", "--state", "Ongoing"}).output, "there are no transactions in this state\n");
  EXPECT_EQ(naru({"txn", "list", "--stuck"}).output,
            "no transaction is stuck: none is in progress, and none hangs in a partition\n");
  for (const char* command : {"describe", "abort"}) {
    const Outcome missing = naru({"txn", command, "nope"});
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_TRUE(
        missing.error.starts_with("naru: transactional id nope: there is no such transactional id "
                                  "(TRANSACTIONAL_ID_NOT_FOUND)\n  `naru txn list` shows those that exist."))
        << missing.error;
  }
  EXPECT_TRUE(cluster_.fenced.empty()) << "to abort what is not known would make it known";
}

TEST_F(TxnCommandsTest, TheListShowsWhatIsInProgressAndForHowLong) {
  add("copier", "Ongoing", 30s);
  add("done", "CompleteCommit", 3h).partitions.clear();
  EXPECT_EQ(naru({"txn", "list"}).output,
            "ID      STATE           PRODUCER  EPOCH   AGE  TIMEOUT  PARTITIONS  COORDINATOR\n"
            "copier  Ongoing             4001      3  30 s     60 s           2            2\n"
            "done    CompleteCommit      4002      3     -     60 s           0            2\n");
  EXPECT_EQ(naru({"txn", "list", "--state", "CompleteCommit"}).output.find("copier"), std::string::npos);
  const std::string json = naru({"txn", "list", "--json"}).output;
  for (const char* part : {"\"id\": \"copier\"", "\"state\": \"Ongoing\"", "\"producer_id\": 4001",
                           "\"producer_epoch\": 3", "\"timeout_seconds\": 60", "\"stuck\": \"no\"", "\"partitions\": 2",
                           "\"age_seconds\": null", "\"coordinator\": 2"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in " << json;
  }
}

TEST_F(TxnCommandsTest, StuckIsWhatIsOpenBeyondItsTimeoutOrNotEndedInSeconds) {
  add("late", "Ongoing", 71s);
  add("in-time", "Ongoing", 69s);
  add("ending", "PrepareCommit", 5s).last_update = ago(11s);
  add("just-ending", "PrepareAbort", 50s).last_update = ago(9s);
  add("old broker", "PrepareAbort", 71s).last_update = -1;
  const std::string text = naru({"txn", "list", "--stuck"}).output;
  EXPECT_NE(text.find("\nlate "), std::string::npos) << text;
  EXPECT_NE(
      text.find("late has been open for longer than its timeout, and its coordinator (broker 2) has not ended it; "
                "`naru txn abort late` does\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("ending is decided, but not every partition of it has taken that: `naru txn describe ending` "
                      "names them, `naru cluster status` those without a leader\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("`naru txn describe 'old broker'` names them"), std::string::npos) << text;
  EXPECT_EQ(text.find("in-time"), std::string::npos) << text;
  EXPECT_EQ(text.find("just-ending"), std::string::npos) << text;
  cluster_.transactions.erase("late");
  cluster_.transactions.erase("ending");
  cluster_.transactions.erase("old broker");
  EXPECT_EQ(naru({"txn", "list", "--stuck"}).output,
            "no transaction is stuck: 2 are in progress, none for too long, and none hangs in a partition\n");
}

TEST_F(TxnCommandsTest, HangingIsWhatAPartitionHasOpenAndNoCoordinatorKnows) {
  add("copier", "Ongoing", 5s);
  add("done", "CompleteAbort", 5s);
  cluster_.producers[cluster_.orders(0)] = {cluster_.open_producer(4001, 10), cluster_.open_producer(9, -1)};
  cluster_.producers[cluster_.orders(1)] = {cluster_.open_producer(7, 30, ago(3h)), cluster_.open_producer(4002, 20)};
  EXPECT_EQ(naru({"txn", "list", "--stuck"}).output,
            "open in a partition, and no coordinator knows them:\n"
            "TOPIC   PARTITION  PRODUCER  EPOCH  START  LAST RECORD\n"
            "orders          1      4002      3     20            -\n"
            "orders          1         7      3     30    3 h 0 min\n"
            "they end only by hand:\n"
            "  naru txn abort --topic orders --partition 1 --producer-id 4002\n"
            "  naru txn abort --topic orders --partition 1 --producer-id 7\n");
  const std::string json = naru({"txn", "list", "--stuck", "--json"}).output;
  EXPECT_NE(json.find("\"hanging\": [\n"), std::string::npos) << json;
  EXPECT_NE(json.find("\"start_offset\": 20"), std::string::npos) << json;
  EXPECT_NE(json.find("\"unknown_partitions\": 0"), std::string::npos) << json;
}

TEST_F(TxnCommandsTest, WhatBeginsOrEndsMeanwhileDoesNotHang) {
  cluster_.producers[cluster_.orders(0)] = {cluster_.open_producer(7, 10), cluster_.open_producer(8, 20)};
  cluster_.on_list_by_producer = [this] {
    cluster_.producers[cluster_.orders(0)] = {cluster_.open_producer(7, -1), cluster_.open_producer(8, 25),
                                              cluster_.open_producer(9, 30)};
  };
  const std::string text = naru({"txn", "list", "--stuck"}).output;
  EXPECT_TRUE(text.starts_with("no transaction is stuck: ")) << text;
}

TEST_F(TxnCommandsTest, NothingIsSaidToHangWhileATransactionalIdMayBeUnknown) {
  cluster_.producers[cluster_.orders(0)] = {cluster_.open_producer(7, 10)};
  cluster_.state_topic_is_online = false;
  EXPECT_EQ(naru({"txn", "list", "--stuck"}).output, "");
  add("late", "Ongoing", 2h);
  const Outcome list = naru({"txn", "list", "--stuck"});
  EXPECT_EQ(list.exit_code, 1);
  EXPECT_NE(list.output.find("`naru txn abort late` does\n"), std::string::npos) << list.output;
  EXPECT_EQ(list.output.find("--producer-id"), std::string::npos) << list.output;
  EXPECT_NE(list.error.find("1 of 1 partitions of __transaction_state have no leader"), std::string::npos)
      << list.error;
  const Outcome abort = naru({"txn", "abort", "--topic", "orders", "--partition", "0", "--producer-id", "7"});
  EXPECT_EQ(abort.exit_code, 1);
  EXPECT_NE(abort.error.find("1 of 1 partitions of __transaction_state have no leader"), std::string::npos)
      << abort.error;
  EXPECT_TRUE(cluster_.aborted.empty());
}

TEST_F(TxnCommandsTest, PartitionsThatCannotBeLookedAtAreNoted) {
  cluster_.state_topic_is_online = false;
  const Outcome list = naru({"txn", "list", "--stuck"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_NE(list.error.find("naru: 1 partition could not be looked at: __transaction_state-0: "), std::string::npos)
      << list.error;
}

TEST_F(TxnCommandsTest, ATransactionIsDescribed) {
  add("copier", "Ongoing", 30s);
  const std::string text = naru({"txn", "describe", "copier"}).output;
  EXPECT_TRUE(text.starts_with("transactional id copier: Ongoing, begun 30 s ago (")) << text;
  EXPECT_TRUE(
      text.ends_with("); producer 4001, epoch 3; timeout 60 s; coordinated by broker 2 (second:9092)\n"
                     "partitions: orders 0,1\n"))
      << text;
  add("ending", "PrepareAbort", 60s).last_update = ago(20s);
  const std::string ending = naru({"txn", "describe", "ending"}).output;
  EXPECT_NE(ending.find(", being ended for 20 s; "), std::string::npos) << ending;
  EXPECT_NE(ending.find("ending is decided, but not every partition of it has taken that"), std::string::npos)
      << ending;
  add("idle", "Empty", 3h).partitions.clear();
  EXPECT_EQ(naru({"txn", "describe", "idle"}).output,
            "transactional id idle: Empty; producer 4003, epoch 3; timeout 60 s; coordinated by broker 2 "
            "(second:9092)\nno partitions\n");
  const std::string json = naru({"txn", "describe", "copier", "--json"}).output;
  EXPECT_NE(json.find("\"topic\": \"orders\""), std::string::npos) << json;
}

TEST_F(TxnCommandsTest, AnAbortFencesTheProducerAndTellsWhatWasOpen) {
  add("copier", "Ongoing", 30s);
  cluster_.init_errors = {ErrorCode::concurrent_transactions, ErrorCode::concurrent_transactions};
  const Outcome abort = naru({"txn", "abort", "copier"});
  EXPECT_EQ(abort.exit_code, 0) << abort.error;
  EXPECT_EQ(abort.output,
            "aborted the transaction of copier, which was open for 30 s in orders 0,1\n"
            "its producer (producer 4001, epoch 3) is fenced: what it still sends is refused, and it has to begin anew "
            "(initTransactions)\n");
  EXPECT_EQ(cluster_.fenced, std::vector<std::string>{"copier"});
}

TEST_F(TxnCommandsTest, WhatIsNotOpenIsNotAbortedUnlessItsProducerIsToBeFenced) {
  add("done", "CompleteCommit", 30s).partitions.clear();
  add("committing", "PrepareCommit", 1s);
  const Outcome done = naru({"txn", "abort", "done"});
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_EQ(done.error,
            "naru: transactional id done: nothing is open (its state is CompleteCommit); with --fence its producer is "
            "shut out all the same\n");
  const Outcome committing = naru({"txn", "abort", "committing"});
  EXPECT_EQ(committing.exit_code, 1);
  EXPECT_NE(committing.error.find("is being committed, which nothing can undo"), std::string::npos) << committing.error;
  EXPECT_TRUE(cluster_.fenced.empty());
  const Outcome fenced = naru({"txn", "abort", "done", "--fence"});
  EXPECT_TRUE(fenced.output.starts_with("nothing of done was open\nits producer (producer 4001, epoch 3) is fenced"))
      << fenced.output;
  const std::string json = naru({"txn", "abort", "committing", "--fence", "--json"}).output;
  EXPECT_NE(json.find("\"aborted\": false"), std::string::npos) << json;
  EXPECT_EQ(cluster_.fenced, (std::vector<std::string>{"done", "committing"}));
}

TEST_F(TxnCommandsTest, AnAbortThatDoesNotComeToAnEndSaysWhatHoldsItUp) {
  add("copier", "Ongoing", 30s);
  cluster_.init_errors.assign(1000, ErrorCode::concurrent_transactions);
  const Outcome abort = naru({"txn", "abort", "copier"});
  EXPECT_EQ(abort.exit_code, 1);
  EXPECT_NE(abort.error.find("CONCURRENT_TRANSACTIONS"), std::string::npos) << abort.error;
  EXPECT_NE(abort.error.find("`naru cluster status`"), std::string::npos) << abort.error;
}

TEST_F(TxnCommandsTest, AHangingTransactionIsAbortedInItsPartition) {
  cluster_.producers[cluster_.orders(1)] = {cluster_.open_producer(7, 30)};
  const std::vector<std::string> words{"txn", "abort", "--topic", "orders", "--partition", "1", "--producer-id", "7"};
  const Outcome abort = naru(words);
  EXPECT_EQ(abort.exit_code, 0) << abort.error;
  EXPECT_EQ(abort.output, "aborted what producer 7, epoch 3 had open in orders-1 from offset 30 on\n");
  ASSERT_EQ(cluster_.aborted.size(), 1u);
  const Outcome again = naru(words);
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(again.error,
            "naru: producer 7 has no transaction open in orders-1; `naru txn list --stuck` shows those that hang\n");
  EXPECT_EQ(cluster_.aborted.size(), 1u);
}

TEST_F(TxnCommandsTest, ATransactionThatACoordinatorKnowsIsNotAbortedPastIt) {
  for (const char* state : {"Ongoing", "PrepareCommit"}) {
    add("copier", state, 5s).producer.id = ProducerId(7);
    cluster_.producers[cluster_.orders(1)] = {cluster_.open_producer(7, 30)};
    const Outcome abort = naru({"txn", "abort", "--topic", "orders", "--partition", "1", "--producer-id", "7"});
    EXPECT_EQ(abort.exit_code, 1);
    EXPECT_NE(abort.error.find("does not hang: it is that of transactional id copier, "), std::string::npos)
        << abort.error;
    EXPECT_NE(abort.error.find("`naru txn abort copier` ends it in all of its partitions"), std::string::npos)
        << abort.error;
    EXPECT_TRUE(cluster_.aborted.empty());
  }
}

TEST_F(TxnCommandsTest, APartitionThatThereIsNot) {
  const Outcome abort = naru({"txn", "abort", "--topic", "orders", "--partition", "9", "--producer-id", "7"});
  EXPECT_EQ(abort.exit_code, 1);
  EXPECT_NE(abort.error.find("orders-9: "), std::string::npos) << abort.error;
  EXPECT_NE(abort.error.find("UNKNOWN_TOPIC_OR_PARTITION"), std::string::npos) << abort.error;
}

TEST_F(TxnCommandsTest, NamesAreQuotedInCommandsThatAPersonMayCopy) {
  add("a; rm 'b'", "Ongoing", 2h);
  add("-x", "Ongoing", 2h);
  const std::string text = naru({"txn", "list", "--stuck"}).output;
  EXPECT_NE(text.find("`naru txn abort 'a; rm '\\''b'\\'''` does\n"), std::string::npos) << text;
  EXPECT_NE(text.find("`naru txn abort -- -x` does\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace naru::command_line
