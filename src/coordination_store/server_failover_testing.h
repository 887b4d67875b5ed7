// What the backends have to keep on three servers of which one is killed. `Ensemble` has: ServerProcess&
// process(size_t) of the three, running, and Result<std::unique_ptr<CoordinationStore>> open(), which names them all.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "coordination_store/coordination_store_contract.h"
#include "coordination_store/real_backend_testing.h"
#include "coordination_store/server_process_testing.h"

namespace naru {

template <class Ensemble>
class ServerFailover : public testing::Test {
 protected:
  static constexpr size_t kServers = 3;

  ServerFailover() : writer_(open()), reader_(open()) {}
  ~ServerFailover() override {
    ignore(run_for_real(writer_->close()));
    ignore(run_for_real(reader_->close()));
  }

  std::unique_ptr<CoordinationStore> open() {
    auto opened = ensemble_.open();
    NARU_ASSERT(opened.has_value(), "{}", opened.error().to_string());
    return std::move(*opened);
  }
  // While the servers agree on a leader, outcomes are unknown.
  void put_at_last(std::string key, const std::string& value, bool ephemeral = false) {
    for (int attempts = 0; attempts < 10'000; ++attempts) {
      const auto done = run_for_real(writer_->commit({.puts = {text_put(key, value, ephemeral)}}));
      if (done) return;
      ASSERT_EQ(done.error().code(), ErrorCode::unavailable) << done.error().to_string();
      const auto watch = writer_->watch("nothing");
      while (run_for_real(writer_->session()).state == SessionState::suspended) {
        ASSERT_TRUE(run_for_real(watch->next({})).ok());
      }
    }
    FAIL() << "nothing can be written any more";
  }
  std::string read(const std::string& key) {
    const auto found = run_for_real(reader_->get(key));
    return found && *found ? std::string(as_text((*found)->value.view())) : "";
  }

  Ensemble ensemble_;
  std::unique_ptr<CoordinationStore> writer_, reader_;
};

TYPED_TEST_SUITE_P(ServerFailover);

TYPED_TEST_P(ServerFailover, OneOfThreeServersMayDieAtATime) {
  const auto watch = this->reader_->watch("round");
  this->put_at_last("brokers/1", "here", true);
  const int64_t session = run_for_real(this->writer_->session()).id;
  for (size_t i = 0; i < this->kServers; ++i) {
    const std::string round = std::to_string(i);
    this->ensemble_.process(i).kill();
    this->put_at_last("round", round);
    while (this->read("round") != round) ASSERT_TRUE(run_for_real(watch->next({})).ok());
    EXPECT_EQ(this->read("brokers/1"), "here");
    this->ensemble_.process(i).start();
  }
  EXPECT_EQ(run_for_real(this->writer_->session()).id, session);
  EXPECT_NE(run_for_real(this->writer_->session()).state, SessionState::expired);
}

REGISTER_TYPED_TEST_SUITE_P(ServerFailover, OneOfThreeServersMayDieAtATime);

}  // namespace naru
