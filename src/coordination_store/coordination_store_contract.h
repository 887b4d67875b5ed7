// What every backend of the coordination store has to keep. A backend instantiates this suite in its own test file:
//
//     INSTANTIATE_TYPED_TEST_SUITE_P(Embedded, CoordinationStoreContract, EmbeddedBackend);
//
// where the type has: CoordinationStore& store(), connected; T run(Task<T>), which drives a task to its end; and
// void new_session(), which ends the session and opens the store again. Backends that several brokers share have to
// pass shared_store_contract.h too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "coordination_store/coordination_store.h"

namespace naru {

inline Put text_put(std::string key, std::string_view value, bool ephemeral = false) {
  const BytesView bytes = as_bytes(value);
  return {std::move(key), {bytes.begin(), bytes.end()}, ephemeral};
}

template <class Backend>
class CoordinationStoreContract : public testing::Test {
 protected:
  Result<std::vector<KeyVersion>> commit(Transaction transaction) {
    return backend_.run(backend_.store().commit(std::move(transaction)));
  }
  std::optional<KeyValue> get(std::string key) {
    auto found = backend_.run(backend_.store().get(std::move(key)));
    EXPECT_TRUE(found);
    return found ? *found : std::nullopt;
  }
  std::string text(std::string key) {
    const auto found = get(std::move(key));
    return found ? std::string(as_text(found->value.view())) : "(absent)";
  }
  std::vector<std::string> keys(std::string folder) {
    std::vector<std::string> names;
    const auto found = backend_.run(backend_.store().list(std::move(folder)));
    EXPECT_TRUE(found);
    if (found) {
      for (const KeyValue& entry : *found) names.push_back(entry.key);
    }
    return names;
  }
  // Reads of a new session may be stale until it has changed something.
  void new_session() {
    backend_.new_session();
    EXPECT_TRUE(commit({.deletes = {"nothing"}}));
  }
  // How often the watch fires without waiting.
  int pending_events(Watch& watch) {
    CancelSource source;
    source.cancel();
    int events = 0;
    while (events < 100 && backend_.run(watch.next(source.token())).ok()) ++events;
    return events;
  }

  Backend backend_;
};

TYPED_TEST_SUITE_P(CoordinationStoreContract);

TYPED_TEST_P(CoordinationStoreContract, AnAbsentKeyIsNoError) {
  EXPECT_FALSE(this->get("nothing"));
  EXPECT_TRUE(this->keys("").empty());
}

TYPED_TEST_P(CoordinationStoreContract, APutIsReadBackWithTheVersionThatTheCommitReturned) {
  const auto versions = this->commit({.puts = {text_put("a", "1"), text_put("b/c", "2")}});
  ASSERT_TRUE(versions);
  ASSERT_EQ(versions->size(), 2u);
  EXPECT_EQ(this->get("a")->version, (*versions)[0]);
  EXPECT_GT((*versions)[0], 0);
  EXPECT_EQ(this->text("b/c"), "2");
}

TYPED_TEST_P(CoordinationStoreContract, EveryPutChangesTheVersion) {
  const auto first = this->commit({.puts = {text_put("a", "same")}});
  const auto second = this->commit({.puts = {text_put("a", "same")}});
  EXPECT_NE((*first)[0], (*second)[0]);
}

TYPED_TEST_P(CoordinationStoreContract, AComparisonWithZeroHoldsOnlyForAnAbsentKey) {
  EXPECT_TRUE(this->commit({.compares = {{"a", 0}}, .puts = {text_put("a", "1")}}));
  const auto again = this->commit({.compares = {{"a", 0}}, .puts = {text_put("a", "2")}});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::version_conflict);
  EXPECT_EQ(this->text("a"), "1");
}

TYPED_TEST_P(CoordinationStoreContract, AFailedComparisonChangesNothingAtAll) {
  const auto version = (*this->commit({.puts = {text_put("a", "1"), text_put("c", "1")}}))[0];
  const auto refused =
      this->commit({.compares = {{"a", version}, {"b", 7}}, .puts = {text_put("a", "2")}, .deletes = {"c"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::version_conflict);
  EXPECT_EQ(this->text("a"), "1");
  EXPECT_EQ(this->text("c"), "1");
}

TYPED_TEST_P(CoordinationStoreContract, ATransactionOfComparisonsOnlyTellsWhetherTheyHold) {
  EXPECT_TRUE(this->commit({.compares = {{"a", 0}}}));
  EXPECT_FALSE(this->commit({.compares = {{"a", 1}}}));
}

TYPED_TEST_P(CoordinationStoreContract, DeletesRemoveKeysAndIgnoreAbsentOnes) {
  EXPECT_TRUE(this->commit({.puts = {text_put("a", "1"), text_put("b", "1")}}));
  EXPECT_TRUE(this->commit({.deletes = {"a", "never/was"}}));
  EXPECT_EQ(this->keys(""), (std::vector<std::string>{"b"}));
}

TYPED_TEST_P(CoordinationStoreContract, AListingHoldsTheFolderAndNothingBesideItSorted) {
  EXPECT_TRUE(this->commit({.puts = {text_put("topics/b", ""), text_put("topics/a", ""), text_put("topics", ""),
                                     text_put("topics2/a", ""), text_put("topics/a/deep", "")}}));
  EXPECT_EQ(this->keys("topics/"), (std::vector<std::string>{"topics/a", "topics/a/deep", "topics/b"}));
}

TYPED_TEST_P(CoordinationStoreContract, EphemeralKeysEndWithTheirSessionAndOthersStay) {
  EXPECT_TRUE(this->commit(
      {.puts = {text_put("brokers/1", "here", true), text_put("kept", "1"), text_put("was_ephemeral", "1", true)}}));
  EXPECT_TRUE(this->commit({.puts = {text_put("was_ephemeral", "2")}}));
  this->new_session();
  EXPECT_EQ(this->keys(""), (std::vector<std::string>{"kept", "was_ephemeral"}));
}

TYPED_TEST_P(CoordinationStoreContract, TransactionsBeyondTheLimitsAreInvalid) {
  Transaction many;
  for (size_t i = 0; i <= kMaxTransactionOperations; ++i) many.deletes.push_back(std::to_string(i));
  const Transaction large{.puts = {{"a", Bytes(kMaxTransactionBytes)}}};
  const Transaction twice{.puts = {text_put("a", "1")}, .deletes = {"a"}};
  for (const Transaction& transaction : {many, large, twice}) {
    const auto refused = this->commit(transaction);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
  }
  many.deletes.pop_back();
  EXPECT_TRUE(this->commit(many));
}

TYPED_TEST_P(CoordinationStoreContract, ATransactionAtTheLimitsIsTaken) {
  Transaction large;
  for (size_t i = 0; i < kMaxTransactionOperations; ++i) {
    const std::string key = "folder" + std::to_string(i) + "/key";
    large.puts.push_back({key, Bytes(kMaxTransactionBytes / kMaxTransactionOperations - kOperationOverheadBytes - 20)});
  }
  const Transaction one{.puts = {{"one", Bytes(kMaxTransactionBytes - kOperationOverheadBytes - 3)}}};
  for (const Transaction& transaction : {large, one}) {
    const auto versions = this->commit(transaction);
    ASSERT_TRUE(versions) << versions.error().to_string();
    EXPECT_EQ(this->get(transaction.puts[0].key)->value.size(), transaction.puts[0].value.size());
  }
}

TYPED_TEST_P(CoordinationStoreContract, ComparedKeysMayBeChangedOrDeletedToo) {
  const auto versions = this->commit({.compares = {{"absent", 0}}, .puts = {text_put("a", "1"), text_put("b", "1")}});
  ASSERT_TRUE(versions);
  const auto next = this->commit({.compares = {{"a", (*versions)[0]}, {"b", (*versions)[1]}, {"c", 0}},
                                  .puts = {text_put("a", "2")},
                                  .deletes = {"b", "c"}});
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_EQ(this->text("a"), "2");
  EXPECT_EQ(this->keys(""), (std::vector<std::string>{"a"}));
  EXPECT_FALSE(this->commit({.compares = {{"a", (*versions)[0]}}, .deletes = {"a"}}));
  EXPECT_FALSE(this->commit({.compares = {{"a", (*next)[0]}, {"b", 1}}, .deletes = {"a"}}));
  EXPECT_EQ(this->text("a"), "2");
}

TYPED_TEST_P(CoordinationStoreContract, APutThatMakesAKeyEphemeralOrPermanentChangesTheVersion) {
  KeyVersion before = 0;
  for (const bool ephemeral : {false, true, true, false, false, true}) {
    const auto version = this->commit({.puts = {text_put("a", "same", ephemeral)}});
    ASSERT_TRUE(version) << version.error().to_string();
    EXPECT_NE((*version)[0], before);
    before = (*version)[0];
    EXPECT_EQ(this->get("a")->version, before);
  }
  this->new_session();
  EXPECT_EQ(this->text("a"), "(absent)");
}

TYPED_TEST_P(CoordinationStoreContract, BadKeysAreInvalid) {
  for (const char* key : {"", "/a", "a/", "a//b", "a b", "a\n", "\xc3\xa4"}) {
    const auto refused = this->commit({.puts = {text_put(key, "1")}});
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument) << key;
  }
  EXPECT_FALSE(this->commit({.puts = {text_put(std::string(kMaxKeyBytes + 1, 'k'), "1")}}));
}

TYPED_TEST_P(CoordinationStoreContract, AWatchFiresForChangesOfItsFolderAndForNothingElse) {
  const auto watch = this->backend_.store().watch("topics/");
  EXPECT_TRUE(this->commit({.puts = {text_put("topics/a", "1")}}));
  EXPECT_TRUE(this->commit({.puts = {text_put("topics/b", "1")}}));
  EXPECT_TRUE(this->backend_.run(watch->next({})).ok());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(this->commit({.puts = {text_put("topics2", "1"), text_put("topics", "1")}}));
  EXPECT_TRUE(this->commit({.deletes = {"topics/a"}}));
  EXPECT_TRUE(this->backend_.run(watch->next({})).ok());
  EXPECT_LE(this->pending_events(*watch), 2);  // each change, and one for nothing
}

TYPED_TEST_P(CoordinationStoreContract, AWatchOfAKeyIgnoresLongerNames) {
  const auto watch = this->backend_.store().watch("generation");
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(this->commit({.puts = {text_put("generation2", "1"), text_put("generation/x", "1")}}));
  }
  EXPECT_LE(this->pending_events(*watch), 1);
  EXPECT_TRUE(this->commit({.puts = {text_put("generation", "1")}}));
  EXPECT_TRUE(this->backend_.run(watch->next({})).ok());
}

TYPED_TEST_P(CoordinationStoreContract, TheSessionIsConnected) {
  EXPECT_EQ(this->backend_.run(this->backend_.store().session()).state, SessionState::connected);
}

TYPED_TEST_P(CoordinationStoreContract, AClosedStoreAnswersUnavailable) {
  CoordinationStore& store = this->backend_.store();
  EXPECT_TRUE(this->backend_.run(store.close()).ok());
  EXPECT_EQ(this->backend_.run(store.commit({.puts = {text_put("a", "1")}})).error().code(), ErrorCode::unavailable);
  this->new_session();
  EXPECT_EQ(this->text("a"), "(absent)");
}

REGISTER_TYPED_TEST_SUITE_P(CoordinationStoreContract, AnAbsentKeyIsNoError,
                            APutIsReadBackWithTheVersionThatTheCommitReturned, EveryPutChangesTheVersion,
                            AComparisonWithZeroHoldsOnlyForAnAbsentKey, AFailedComparisonChangesNothingAtAll,
                            ATransactionOfComparisonsOnlyTellsWhetherTheyHold, DeletesRemoveKeysAndIgnoreAbsentOnes,
                            AListingHoldsTheFolderAndNothingBesideItSorted,
                            EphemeralKeysEndWithTheirSessionAndOthersStay, TransactionsBeyondTheLimitsAreInvalid,
                            ATransactionAtTheLimitsIsTaken, ComparedKeysMayBeChangedOrDeletedToo,
                            APutThatMakesAKeyEphemeralOrPermanentChangesTheVersion, BadKeysAreInvalid,
                            AWatchFiresForChangesOfItsFolderAndForNothingElse, AWatchOfAKeyIgnoresLongerNames,
                            TheSessionIsConnected, AClosedStoreAnswersUnavailable);

}  // namespace naru
