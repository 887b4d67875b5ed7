// What the backends on real servers have to keep when the servers and the way to them fail. `Server` as in
// real_backend_testing.h; each test has a server of its own, and a proxy before it.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "coordination_store/coordination_store_contract.h"
#include "coordination_store/real_backend_testing.h"
#include "coordination_store/server_process_testing.h"
#include "platform/real/stuck_loops_testing.h"

namespace naru {

template <class Server>
class ServerFaults : public testing::Test {
 protected:
  // For tests in which a session shall be given up soon, and for those in which it must not.
  static constexpr Duration kImpatient = 3s, kPatient = 20s;

  ServerFaults() : proxy_(server_.port()), direct_(open(server_.port(), kImpatient)) {
    // A server that is about to start lets clients wait; now it has started.
    reopen(direct_, server_.port(), kPatient);
    proxied_ = open(proxy_.port());
  }
  ~ServerFaults() override {
    proxy_.heal();
    ignore(run_for_real(direct_->close()));
    ignore(run_for_real(proxied_->close()));
  }

  std::unique_ptr<CoordinationStore> open(uint16_t port, Duration timeout = kPatient) {
    auto opened = server_.open(port, "/faults", timeout);
    NARU_ASSERT(opened.has_value(), "{}", opened.error().to_string());
    return std::move(*opened);
  }
  static ErrorCode put(CoordinationStore& store, std::string key, std::string_view value, bool ephemeral = false) {
    const auto done = run_for_real(store.commit({.puts = {text_put(std::move(key), value, ephemeral)}}));
    return done ? ErrorCode::none : done.error().code();
  }
  static std::string text(CoordinationStore& store, std::string key) {
    const auto found = run_for_real(store.get(std::move(key)));
    if (!found) return found.error().to_string();
    return *found ? std::string(as_text((*found)->value.view())) : "(absent)";
  }
  void reopen(std::unique_ptr<CoordinationStore>& store, uint16_t port, Duration timeout) {
    ignore(run_for_real(store->close()));
    store = open(port, timeout);
  }
  static void wait_for_text(CoordinationStore& store, Watch& watch, const std::string& key, const std::string& value) {
    while (text(store, key) != value) {
      ASSERT_NE(run_for_real(store.session()).state, SessionState::expired);
      ASSERT_TRUE(run_for_real(watch.next({})).ok());
    }
  }
  static void wait_for(CoordinationStore& store, SessionState state) {
    const auto watch = store.watch("nothing");
    for (SessionState now = run_for_real(store.session()).state; now != state;
         now = run_for_real(store.session()).state) {
      ASSERT_NE(now, SessionState::expired);
      ASSERT_TRUE(run_for_real(watch->next({})).ok());
    }
  }

  Server server_;
  TcpProxy proxy_;
  std::unique_ptr<CoordinationStore> direct_, proxied_;
};

TYPED_TEST_SUITE_P(ServerFaults);

TYPED_TEST_P(ServerFaults, AServerThatIsKilledAndStartedAgainKeepsKeysSessionsAndWatches) {
  const auto watch = this->direct_->watch("kept");
  ASSERT_EQ(this->put(*this->direct_, "kept", "1"), ErrorCode::none);
  ASSERT_EQ(this->put(*this->direct_, "brokers/1", "here", true), ErrorCode::none);
  const int64_t session = run_for_real(this->direct_->session()).id;
  this->server_.process().kill();
  this->wait_for(*this->direct_, SessionState::suspended);
  EXPECT_EQ(this->put(*this->direct_, "kept", "2"), ErrorCode::unavailable);
  this->server_.process().start();
  this->wait_for(*this->direct_, SessionState::connected);
  EXPECT_EQ(run_for_real(this->direct_->session()).id, session);
  EXPECT_EQ(this->text(*this->direct_, "kept"), "1");
  EXPECT_EQ(this->text(*this->direct_, "brokers/1"), "here");
  this->wait_for(*this->proxied_, SessionState::connected);
  ASSERT_EQ(this->put(*this->proxied_, "kept", "3"), ErrorCode::none);
  this->wait_for_text(*this->direct_, *watch, "kept", "3");
}

TYPED_TEST_P(ServerFaults, AServerThatPausesSuspendsTheSessionUntilItGoesOn) {
  this->reopen(this->direct_, this->server_.port(), this->kImpatient);
  ASSERT_EQ(this->put(*this->direct_, "key", "1"), ErrorCode::none);
  this->server_.process().pause();
  this->wait_for(*this->direct_, SessionState::suspended);
  EXPECT_EQ(this->put(*this->direct_, "key", "2"), ErrorCode::unavailable);
  this->server_.process().resume();
  const auto watch = this->direct_->watch("nothing");
  // The session may have timed out while the server did not hear of it.
  while (run_for_real(this->direct_->session()).state == SessionState::suspended) {
    ASSERT_TRUE(run_for_real(watch->next({})).ok());
  }
  if (run_for_real(this->direct_->session()).state == SessionState::connected) {
    ASSERT_EQ(this->put(*this->direct_, "key", "3"), ErrorCode::none);
    EXPECT_EQ(this->text(*this->direct_, "key"), "3");
  }
}

TYPED_TEST_P(ServerFaults, ASilentSessionExpiresLosesItsKeysAndLearnsItWhenThereIsContactAgain) {
  this->reopen(this->proxied_, this->proxy_.port(), this->kImpatient);
  ASSERT_EQ(this->put(*this->proxied_, "brokers/2", "here", true), ErrorCode::none);
  const auto watch = this->direct_->watch("brokers/");
  this->proxy_.hold();
  this->wait_for_text(*this->direct_, *watch, "brokers/2", "(absent)");
  EXPECT_EQ(run_for_real(this->proxied_->session()).state, SessionState::suspended) << "before the service ends it";
  this->proxy_.heal();
  this->wait_for(*this->proxied_, SessionState::expired);
  EXPECT_EQ(this->put(*this->proxied_, "brokers/2", "zombie", true), ErrorCode::unavailable);
  EXPECT_EQ(this->put(*this->proxied_, "zombie", "x"), ErrorCode::unavailable);
  EXPECT_EQ(run_for_real(this->proxied_->get("brokers/2")).error().code(), ErrorCode::unavailable);
  EXPECT_EQ(this->text(*this->direct_, "brokers/2"), "(absent)");
  EXPECT_EQ(this->text(*this->direct_, "zombie"), "(absent)");
}

TYPED_TEST_P(ServerFaults, ATransactionWhoseConnectionIsCutBeforeTheAnswerHasAnUnknownOutcome) {
  ASSERT_EQ(this->put(*this->proxied_, "key", "before"), ErrorCode::none);
  this->proxy_.cut_at_next_answer();
  EXPECT_EQ(this->put(*this->proxied_, "key", "after"), ErrorCode::unavailable);
  const std::string now = this->text(*this->direct_, "key");
  EXPECT_TRUE(now == "after" || now == "before") << now;
  this->proxy_.heal();
  this->wait_for(*this->proxied_, SessionState::connected);
  ASSERT_EQ(this->put(*this->proxied_, "key", "once more"), ErrorCode::none);
  EXPECT_EQ(this->text(*this->direct_, "key"), "once more");
}

TYPED_TEST_P(ServerFaults, ATransactionIsNotSentASecondTime) {
  int unknown = 0;
  for (int i = 0; i < 10; ++i) {
    const auto before = run_for_real(this->direct_->get("key"));
    ASSERT_TRUE(before);
    const KeyVersion version = *before ? (*before)->version : 0;
    this->wait_for(*this->proxied_, SessionState::connected);
    this->proxy_.cut_at_next_answer(false);
    const auto done = run_for_real(
        this->proxied_->commit({.compares = {{"key", version}}, .puts = {text_put("key", std::to_string(i))}}));
    // A second one would find that the first has changed the version.
    EXPECT_TRUE(done || done.error().code() == ErrorCode::unavailable) << done.error().to_string();
    unknown += done ? 0 : 1;
  }
  EXPECT_GT(unknown, 0);
}

TYPED_TEST_P(ServerFaults, AWatchSurvivesACut) {
  const auto watch = this->proxied_->watch("topics/");
  ASSERT_EQ(this->put(*this->direct_, "topics/a", "1"), ErrorCode::none);
  this->wait_for_text(*this->proxied_, *watch, "topics/a", "1");
  this->proxy_.cut_at_next_answer();
  this->wait_for(*this->proxied_, SessionState::suspended);
  ASSERT_EQ(this->put(*this->direct_, "topics/a", "2"), ErrorCode::none);
  this->proxy_.heal();
  this->wait_for_text(*this->proxied_, *watch, "topics/a", "2");
}

// Clients may keep the loops of a broker busy. That is not the end of its session.
TYPED_TEST_P(ServerFaults, ASessionOutlivesLoopsThatAreStuckForLongerThanItsTimeout) {
  constexpr Duration kTimeout = 6s;
  this->reopen(this->direct_, this->server_.port(), kTimeout);
  ASSERT_EQ(this->put(*this->direct_, "brokers/1", "here", true), ErrorCode::none);
  const int64_t session = run_for_real(this->direct_->session()).id;
  {
    StuckLoops stuck(shared_platform().seams().scheduler, kSharedLoops);
    stuck.stay(2 * kTimeout + 2s);
  }
  this->wait_for(*this->direct_, SessionState::connected);
  EXPECT_EQ(run_for_real(this->direct_->session()).id, session);
  EXPECT_EQ(this->text(*this->proxied_, "brokers/1"), "here");
}

TYPED_TEST_P(ServerFaults, AStoreWhoseServerHangsIsClosedSoon) {
  constexpr Duration kTimeout = 60s;
  this->reopen(this->direct_, this->server_.port(), kTimeout);
  this->server_.process().pause();
  // Until something is under way that would wait for half of that time.
  const Seams seams = shared_platform().seams();
  ASSERT_TRUE(run_for_real(sleep_until(seams.scheduler, seams.clock.now() + kTimeout / 6 + 1s)).ok());
  const MonotonicTime begun = seams.clock.now();
  EXPECT_TRUE(run_for_real(this->direct_->close()).ok());
  EXPECT_LT(seams.clock.now() - begun, kTimeout / 4);
  this->server_.process().resume();
}

REGISTER_TYPED_TEST_SUITE_P(ServerFaults, AServerThatIsKilledAndStartedAgainKeepsKeysSessionsAndWatches,
                            AServerThatPausesSuspendsTheSessionUntilItGoesOn,
                            ASilentSessionExpiresLosesItsKeysAndLearnsItWhenThereIsContactAgain,
                            ATransactionWhoseConnectionIsCutBeforeTheAnswerHasAnUnknownOutcome,
                            ATransactionIsNotSentASecondTime, AWatchSurvivesACut,
                            ASessionOutlivesLoopsThatAreStuckForLongerThanItsTimeout,
                            AStoreWhoseServerHangsIsClosedSoon);

}  // namespace naru
