// A shard of words, on a partition whose syncs happen when the test says so.
#include "coordinator_runtime/coordinator_shard.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

#include "coordinator_runtime/coordinator_runtime.h"
#include "foundation/canary_testing.h"
#include "platform/simulated/simulated_world.h"
#include "replication/partition_testing.h"

namespace naru {
namespace {

constexpr size_t kBatchMaxBytes = 10'000;

constexpr ProducerIdentity kProducer{ProducerId(5), ProducerEpoch(1)};

// Remembers a value for each word. A word can be waited for; somebody who waits is answered when it is said. What is
// whispered in a transaction counts from its marker on.
class Words final : public StateShard {
 public:
  Status apply(BytesView key, std::optional<BytesView> value) override {
    const std::string word(as_text(key));
    if (word == "gibberish") return Status(ErrorCode::corrupt_data, "gibberish");
    if (value) {
      said_[word] = as_text(*value);
    } else {
      said_.erase(word);
    }
    return Status();
  }
  Status apply_pending(const ProducerIdentity& producer, BytesView key, std::optional<BytesView> value) override {
    whispered_[producer.id][std::string(as_text(key))] = as_text(value.value_or(BytesView()));
    return Status();
  }
  Status apply_marker(const ProducerIdentity& producer, const TransactionMarker& marker) override {
    for (const auto& [word, value] : std::exchange(whispered_[producer.id], {})) {
      if (marker.result == TransactionResult::commit) said_[word] = value;
    }
    return Status();
  }
  void loaded(const CoordinatorTime&) override {}
  void on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome) override {
    if (!alarm_ || time.now < *alarm_) return;
    alarm_.reset();
    emit("alarm", "rang", outcome);
  }
  std::optional<MonotonicTime> next_deadline() const override { return alarm_; }
  void unload(const Status& reason) override {
    for (auto& [word, reply] : waiting_) reply(failure(reason));
    waiting_.clear();
  }

  void say(std::string_view word, std::string_view value, Reply<std::string> reply, CoordinatorOutcome& outcome) {
    emit(word, value, outcome);
    outcome.answer<std::string>(std::move(reply), std::string(value));
  }
  void whisper(std::string_view word, std::string_view value, Reply<std::string> reply, CoordinatorOutcome& outcome) {
    ASSERT_TRUE(apply_pending(kProducer, as_bytes(word), as_bytes(value)).ok());
    outcome.records.push_back({own(word), own(value)});
    outcome.transaction = kProducer;
    outcome.answer<std::string>(std::move(reply), std::string(value));
  }
  // `last_word`, if there is one, is said before.
  void end(const ProducerIdentity& producer, TransactionResult result, std::string_view last_word,
           Reply<std::string> reply, CoordinatorOutcome& outcome) {
    if (!last_word.empty()) emit(last_word, "last", outcome);
    outcome.marker = {.producer = producer, .marker = {result, 3}, .transaction_version = 1};
    ASSERT_TRUE(apply_marker(producer, outcome.marker->marker).ok());
    outcome.answer<std::string>(std::move(reply), "ended");
  }
  void look(const std::string& word, bool proves, Reply<std::string> reply, CoordinatorOutcome& outcome) {
    const auto found = said_.find(word);
    outcome.proves_leadership = proves;
    outcome.answer<std::string>(std::move(reply), found == said_.end() ? "" : found->second);
  }
  void wait(const std::string& word, Reply<std::string> reply) { waiting_.emplace(word, std::move(reply)); }
  void set_alarm(MonotonicTime at) { alarm_ = at; }
  size_t elements() const override { return elements_; }
  void set_elements(size_t elements) { elements_ = elements; }

 private:
  static std::string_view as_text(BytesView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  static Bytes own(std::string_view text) { return {as_bytes(text).begin(), as_bytes(text).end()}; }
  void emit(std::string_view word, std::string_view value, CoordinatorOutcome& outcome) {
    ASSERT_TRUE(apply(as_bytes(word), as_bytes(value)).ok());
    outcome.records.push_back({own(word), own(value)});
  }

  std::map<std::string, std::string> said_;
  std::map<ProducerId, std::map<std::string, std::string>> whispered_;
  std::map<std::string, Reply<std::string>> waiting_;
  std::optional<MonotonicTime> alarm_;
  size_t elements_ = 0;
};

class CoordinatorShardTest : public testing::Test, public StateShardFactory {
 protected:
  ~CoordinatorShardTest() override { stop(); }

  // Opens the partition and begins to load the shard; nothing runs before the world does.
  void open(const PartitionAssignment& assignment = leads_alone(BrokerId(1))) {
    const Seams seams = process->seams();
    partition = open_test_partition(node.disk(), open_files.emplace_back(node.disk(), 4),
                                    {.clock = seams.clock,
                                     .scheduler = seams.scheduler,
                                     .durability = durability,
                                     .unsynced_logs = unsynced_logs,
                                     .contact = &contact},
                                    {}, assignment);
    ASSERT_NE(partition, nullptr);
    metrics.emplace_back();
    runtime = std::make_unique<CoordinatorRuntime>(
        "t", *this, CoordinatorRuntime::Parts{seams.clock, seams.scheduler, metrics.back()}, kBatchMaxBytes);
    runtime->serve(partition, assignment.leader_epoch);
    shard = runtime->shard(PartitionIndex(0));
  }
  void open_and_load() {
    open();
    world.run_until_idle();
  }
  void stop() {
    if (!runtime) return;
    // What is on its way, and what was gathered behind it.
    for (int i = 0; i < 2 && durability.asked > 0; ++i) sync();
    world.run_task(runtime->stop());
    runtime.reset();
  }

  struct Answer {
    std::optional<Result<std::string>> value;
    std::string text() const {
      if (!value) return "(nothing)";
      return *value ? **value : std::string(describe(value->error().code()).name);
    }
  };
  // What becomes of a step: its answer, or the code with which it was refused.
  template <class Run>
  std::shared_ptr<Answer> step(Run run, size_t elements = 1) {
    const auto answer = std::make_shared<Answer>();
    const auto shown = [answer](Result<std::string> value) {
      EXPECT_FALSE(answer->value.has_value()) << "answered twice";
      answer->value = std::move(value);
    };
    shard->run({.run =
                    [run, shown](StateShard& state, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
                      run(static_cast<Words&>(state), Reply<std::string>(shown), time, outcome);
                    },
                .refuse = [shown](const Status& why) { shown(failure(why)); },
                .elements = elements});
    return answer;
  }
  uint64_t jobs_of_workers() { return world.queue().blocking_jobs_run(); }
  std::shared_ptr<Answer> say(std::string word, std::string value) {
    return step([=](Words& words, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome& outcome) {
      words.say(word, value, std::move(reply), outcome);
    });
  }
  std::shared_ptr<Answer> look(std::string word, bool proves = false) {
    return step([=](Words& words, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome& outcome) {
      words.look(word, proves, std::move(reply), outcome);
    });
  }
  std::shared_ptr<Answer> whisper(std::string word, std::string value) {
    return step([=](Words& words, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome& outcome) {
      words.whisper(word, value, std::move(reply), outcome);
    });
  }
  std::shared_ptr<Answer> end(TransactionResult result, std::string last_word = "",
                              ProducerIdentity producer = kProducer) {
    return step([=](Words& words, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome& outcome) {
      words.end(producer, result, last_word, std::move(reply), outcome);
    });
  }
  // Records that a transaction keeps from being stable.
  int64_t unstable() {
    int64_t records = -1;
    const auto look_at_partition = [&]() -> Task<void> {
      const PartitionView view = co_await partition->look(kNoLeaderEpoch);
      records = view.high_watermark - view.last_stable_offset;
    };
    world.run_task(look_at_partition());
    return records;
  }
  void sync() {
    durability.sync();
    world.run_for(1ms);
  }

  uint64_t metric(std::string_view name) const {
    const std::string text = metrics.back().render_prometheus();
    const std::string line = "\n" + std::string(name) + "{topic=\"t\"} ";
    const size_t found = text.find(line);
    EXPECT_NE(found, std::string::npos) << name;
    return found == std::string::npos ? 0 : std::stoull(text.substr(found + line.size()));
  }
  uint64_t batches() const { return metric("naru_coordinator_write_records_count"); }
  uint64_t load_failures() const { return metric("naru_coordinator_load_failures_total"); }

  SimulatedWorld world{1};
  SimulatedNode& node = world.add_node("broker");
  std::unique_ptr<SimulatedProcess> process = node.start();
  std::deque<OpenFiles> open_files;  // one for each life of the partition
  MetricsRegistry partition_metrics;
  UnsyncedLogs unsynced_logs{{.sync_beyond = 100, .full = 200}, partition_metrics};
  ManualDurability durability;
  ClusterContact contact{60s, world.now()};
  std::shared_ptr<Partition> partition;
  std::deque<MetricsRegistry> metrics;
  std::unique_ptr<CoordinatorRuntime> runtime;
  std::shared_ptr<CoordinatorShard> shard;

 private:
  std::unique_ptr<StateShard> make(PartitionIndex, LeaderEpoch) override { return std::make_unique<Words>(); }
  void loaded(StateShard&, const CoordinatorTime&, CoordinatorOutcome&) override {}
};

TEST_F(CoordinatorShardTest, AnAnswerLeavesWhenItsRecordsAreDurable) {
  open_and_load();
  const auto answer = say("a", "1");
  world.run_for(1s);
  EXPECT_EQ(answer->text(), "(nothing)");
  sync();
  EXPECT_EQ(answer->text(), "1");
}

TEST_F(CoordinatorShardTest, WhoOnlyLooksIsNotToldWhatACrashCouldTakeBack) {
  open_and_load();
  EXPECT_EQ(look("a")->text(), "");
  say("a", "1");
  const auto seen = look("a");
  world.run_for(1s);
  EXPECT_EQ(seen->text(), "(nothing)");
  sync();
  EXPECT_EQ(seen->text(), "1");
  EXPECT_EQ(look("a")->text(), "1");
}

TEST_F(CoordinatorShardTest, StepsThatComeDuringASyncShareTheNextOne) {
  open_and_load();
  const auto first = say("a", "0");
  std::vector<std::shared_ptr<Answer>> others;
  for (int i = 1; i <= 100; ++i) others.push_back(say("a", std::to_string(i)));
  EXPECT_EQ(durability.asked, 1);
  sync();
  EXPECT_EQ(first->text(), "0");
  EXPECT_EQ(others.front()->text(), "(nothing)");
  EXPECT_EQ(durability.asked, 2);
  sync();
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(others[static_cast<size_t>(i) - 1]->text(), std::to_string(i));
}

TEST_F(CoordinatorShardTest, AfterAnElectionItLoadsWhenItIsKnownWhatIsCommitted) {
  open_and_load();
  say("a", "1");
  sync();
  stop();
  node.disk().kill();
  durability.asked = 0;
  open({.leader = BrokerId(1),
        .leader_epoch = LeaderEpoch(4),
        .partition_epoch = 3,
        .replicas = {BrokerId(1), BrokerId(2)},
        .isr = {BrokerId(1), BrokerId(2)}});
  world.run_for(10s);
  EXPECT_EQ(look("a")->text(), "COORDINATOR_LOAD_IN_PROGRESS") << "broker 2 may lack what was never promised";
  const auto follower_fetches = [this]() -> Task<void> {
    const Offset end = partition->log().end_offset();
    ignore((co_await partition->read_as_follower({.replica = BrokerId(2),
                                                  .broker_epoch = 1,
                                                  .from = end,
                                                  .last_fetched_epoch = LeaderEpoch(0),
                                                  .flushed_end = end,
                                                  .current_leader_epoch = LeaderEpoch(4)}))
               .status);
  };
  world.run_task(follower_fetches());
  world.run_for(10s);
  EXPECT_EQ(look("a")->text(), "1");
}

// Another leader may have written in between.
TEST_F(CoordinatorShardTest, WhatWasReadInOneEpochIsNotWrittenToInTheNext) {
  open_and_load();
  partition->assign(leads_alone(BrokerId(1), LeaderEpoch(2)));
  EXPECT_EQ(say("a", "1")->text(), "NOT_COORDINATOR");
}

// The next one may have taken commits of which this one knows nothing.
TEST_F(CoordinatorShardTest, WhoMayHaveBeenReplacedTellsNobodyWhatItKnows) {
  const PartitionAssignment alone{.leader = BrokerId(1),
                                  .leader_epoch = LeaderEpoch(4),
                                  .partition_epoch = 3,
                                  .replicas = {BrokerId(1), BrokerId(2)},
                                  .isr = {BrokerId(1)}};
  open(alone);
  world.run_for(1s);
  say("a", "1");
  sync();
  world.run_for(100s);
  EXPECT_EQ(look("a")->text(), "1") << "nobody else can be elected";
  PartitionAssignment both = alone;
  both.isr.push_back(BrokerId(2));
  both.partition_epoch = 4;
  partition->assign(both);
  world.run_for(100s);
  EXPECT_EQ(look("a")->text(), "NOT_COORDINATOR") << "broker 2 has not fetched for long";
  contact.heard(world.now());
  EXPECT_EQ(look("a")->text(), "1");
}

// A follower that fetches, in the strand of its own.
TEST_F(CoordinatorShardTest, WhatTransactionsAreBuiltOnLeavesWhenTheFollowersHaveSaidThatTheyFollow) {
  const PartitionAssignment both{.leader = BrokerId(1),
                                 .leader_epoch = LeaderEpoch(4),
                                 .partition_epoch = 3,
                                 .replicas = {BrokerId(1), BrokerId(2)},
                                 .isr = {BrokerId(1), BrokerId(2)}};
  open(both);
  int64_t question = 0;
  const auto fetch = [&]() -> Task<void> {
    const PartitionView view = co_await partition->read_as_follower({.replica = BrokerId(2),
                                                                     .broker_epoch = 7,
                                                                     .from = Offset(1),
                                                                     .last_fetched_epoch = LeaderEpoch(4),
                                                                     .flushed_end = Offset(1),
                                                                     .log_start = Offset(0),
                                                                     .current_leader_epoch = LeaderEpoch(4),
                                                                     .answered_question = question});
    EXPECT_TRUE(view.status.ok()) << view.status.to_string();
    EXPECT_LT(view.diverging.end_offset, Offset(0));
    question = view.question;
  };
  world.run_for(1s);
  const auto said = say("a", "1");
  const auto behind = look("a", true);
  sync();
  EXPECT_EQ(said->text(), "(nothing)");
  world.run_task(fetch());
  EXPECT_EQ(said->text(), "1");
  EXPECT_EQ(behind->text(), "(nothing)") << "it came while the record was written, which proves nothing for later";
  const auto looked = look("a", true);
  EXPECT_EQ(look("a")->text(), "1") << "others need not wait";
  world.run_task(fetch());
  EXPECT_EQ(looked->text(), "(nothing)");
  world.run_task(fetch());
  EXPECT_EQ(behind->text(), "1");
  EXPECT_EQ(looked->text(), "1");
  const auto too_late = look("a", true);
  partition->assign(leads_alone(BrokerId(2), LeaderEpoch(5)));
  EXPECT_EQ(too_late->text(), "NOT_COORDINATOR");
}

TEST_F(CoordinatorShardTest, StepsThatAreLargeTogetherAreSpreadOverBatches) {
  open_and_load();
  const auto first = say("first", "1");
  std::vector<std::shared_ptr<Answer>> others;
  for (int i = 0; i < 5; ++i) others.push_back(say("word" + std::to_string(i), std::string(4000, 'x')));
  const auto large = say("large", std::string(3 * kBatchMaxBytes, 'y'));
  sync();
  sync();
  for (const auto& other : others) EXPECT_EQ(other->text(), std::string(4000, 'x'));
  EXPECT_EQ(large->text().size(), 3 * kBatchMaxBytes);
  EXPECT_EQ(batches(), 1U + 3 + 1);
  stop();
  open_and_load();
  EXPECT_EQ(look("word4")->text(), std::string(4000, 'x'));
  EXPECT_EQ(look("large")->text().size(), 3 * kBatchMaxBytes);
}

TEST_F(CoordinatorShardTest, AStepIsOneBatchHoweverLargeUnlessItMayBeCut) {
  open_and_load();
  for (const bool may_be_cut : {false, true}) {
    const uint64_t before = batches();
    const auto answer =
        step([may_be_cut](Words& words, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome& outcome) {
          for (int i = 0; i < 5; ++i) {
            words.say("word" + std::to_string(i), std::string(6000, 'x'), [](const auto&) {}, outcome);
            if (may_be_cut && i % 2 == 1) outcome.may_be_cut();
          }
          outcome.answer<std::string>(std::move(reply), "done");
        });
    sync();
    EXPECT_EQ(answer->text(), "done");
    EXPECT_EQ(batches() - before, may_be_cut ? 3U : 1U);
  }
  stop();
  open_and_load();
  EXPECT_EQ(look("word4")->text(), std::string(6000, 'x'));
}

TEST_F(CoordinatorShardTest, TransactionsAreInTheLogInTheOrderInWhichTheyWereApplied) {
  open_and_load();
  say("first", "1");
  say("a", "said before");
  whisper("a", "whispered");
  whisper("b", "whispered");
  say("a", "said");
  say("c", "said");
  const auto ended = end(TransactionResult::commit, "d");
  say("b", "said after");
  sync();
  EXPECT_EQ(ended->text(), "(nothing)");
  sync();
  EXPECT_EQ(ended->text(), "ended");
  EXPECT_EQ(batches(), 1U + 6) << "said, whispered, whispered, said, marker, said";
  EXPECT_EQ(unstable(), 0);
  stop();
  open_and_load();
  EXPECT_EQ(look("a")->text(), "whispered");
  EXPECT_EQ(look("b")->text(), "said after");
  EXPECT_EQ(look("c")->text(), "said");
  EXPECT_EQ(look("d")->text(), "last");
}

TEST_F(CoordinatorShardTest, WhatWasWhisperedCountsFromTheMarkerOnAlsoAfterALoad) {
  for (const TransactionResult result : {TransactionResult::abort, TransactionResult::commit}) {
    open_and_load();
    say("a", "said");
    sync();
    const auto whispered = whisper("a", "whispered");
    EXPECT_EQ(whispered->text(), "(nothing)");
    sync();
    EXPECT_EQ(whispered->text(), "whispered");
    EXPECT_EQ(unstable(), 1);
    stop();
    open_and_load();
    EXPECT_EQ(look("a")->text(), "said");
    const auto ended = end(result);
    sync();
    EXPECT_EQ(ended->text(), "ended");
    EXPECT_EQ(unstable(), 0);
    stop();
    open_and_load();
    EXPECT_EQ(look("a")->text(), result == TransactionResult::commit ? "whispered" : "said");
    stop();
  }
}

TEST_F(CoordinatorShardTest, AfterAMarkerThatTheLogRefusesTheStateIsWhatTheLogSays) {
  open_and_load();
  whisper("a", "whispered");
  sync();
  const auto refused = end(TransactionResult::commit, "", {kProducer.id, ProducerEpoch(0)});
  world.run_for(1ms);
  EXPECT_EQ(refused->text(), "COORDINATOR_NOT_AVAILABLE");
  world.run_for(2s);
  EXPECT_EQ(look("a")->text(), "");
  EXPECT_EQ(unstable(), 1);
  const auto ended = end(TransactionResult::commit);
  sync();
  EXPECT_EQ(ended->text(), "ended");
  EXPECT_EQ(look("a")->text(), "whispered");
}

TEST_F(CoordinatorShardTest, AStepForAnotherLeaderEpochIsRefused) {
  open_and_load();
  for (const LeaderEpoch epoch : {LeaderEpoch(0), LeaderEpoch(1)}) {
    ErrorCode refused = ErrorCode::none;
    shard->run({.run = [](StateShard&, const CoordinatorTime&, CoordinatorOutcome&) {},
                .refuse = [&refused](const Status& reason) { refused = reason.code(); },
                .only_in = epoch});
    EXPECT_EQ(refused, epoch == shard->leader_epoch() ? ErrorCode::none : ErrorCode::not_leader_or_follower);
  }
}

TEST_F(CoordinatorShardTest, WhenTooMuchWaitsForTheDiskRequestsAreRefusedAndNewsIsHeard) {
  open_and_load();
  say("first", "1");
  const auto large = say("large", std::string(17 << 20, 'x'));
  EXPECT_EQ(say("a", "1")->text(), "COORDINATOR_NOT_AVAILABLE");
  EXPECT_EQ(look("a")->text(), "COORDINATOR_NOT_AVAILABLE");
  bool was_heard = false;
  shard->run({.run = [&was_heard](StateShard&, const CoordinatorTime&, CoordinatorOutcome&) { was_heard = true; },
              .refuse = [](const Status&) {},
              .is_news = true});
  EXPECT_TRUE(was_heard);
  sync();
  world.run_until_idle();  // a worker puts so much together
  EXPECT_EQ(look("first")->text(), "(nothing)") << "it may be asked again, and waits for what came before";
  sync();
  EXPECT_EQ(large->text().size(), size_t{17} << 20);
  EXPECT_EQ(look("first")->text(), "1");
}

// --- Long steps ------------------------------------------------------------------------------------------------------

TEST_F(CoordinatorShardTest, AStepThroughManyElementsIsAWorkersAndKeepsItsPlace) {
  open_and_load();
  const uint64_t jobs = jobs_of_workers();
  std::vector<std::string> order;
  const auto note = [&](const char* name, size_t elements) {
    return step(
        [&order, name](Words&, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome& outcome) {
          order.emplace_back(name);
          outcome.answer<std::string>(std::move(reply), name);
        },
        elements);
  };
  note("short", CoordinatorShard::kElementsOnLoop);
  EXPECT_EQ(order.size(), 1U);
  const auto first_long = note("long", CoordinatorShard::kElementsOnLoop + 1);
  note("behind it", 1);
  note("long again", CoordinatorShard::kElementsOnLoop + 1);
  EXPECT_EQ(order.size(), 1U) << "on the thread that asks";
  world.run_until_idle();
  EXPECT_EQ(order, (std::vector<std::string>{"short", "long", "behind it", "long again"}));
  EXPECT_EQ(first_long->text(), "long");
  EXPECT_EQ(jobs_of_workers() - jobs, 2U);
}

TEST_F(CoordinatorShardTest, WhetherAStepIsLongIsAskedOfTheStateThatItFinds) {
  open_and_load();
  bool ran = false;
  const auto run = [&] {
    shard->run({.run = [&ran](StateShard&, const CoordinatorTime&, CoordinatorOutcome&) { ran = true; },
                .refuse = [](const Status&) {},
                .elements_of_state = [](const StateShard& state) { return state.elements(); }});
    return std::exchange(ran, false);
  };
  EXPECT_TRUE(run());
  step([](Words& words, Reply<std::string>, const CoordinatorTime&, CoordinatorOutcome&) { words.set_elements(5000); });
  EXPECT_FALSE(run());
  world.run_until_idle();
  EXPECT_TRUE(ran);
}

TEST_F(CoordinatorShardTest, TimersOfALargeStateAreAWorkers) {
  open_and_load();
  const uint64_t jobs = jobs_of_workers();
  step([&](Words& words, Reply<std::string>, const CoordinatorTime& time, CoordinatorOutcome&) {
    words.set_alarm(time.now + 1s);
    words.set_elements(5000);
  });
  world.run_for(2s);
  EXPECT_EQ(jobs_of_workers() - jobs, 1U);
  sync();
  EXPECT_EQ(look("alarm")->text(), "rang");
}

TEST_F(CoordinatorShardTest, ManyAnswersAtOnceAreAWorkers) {
  open_and_load();
  say("a", "1");
  std::vector<std::shared_ptr<Answer>> looks;
  for (size_t i = 0; i <= CoordinatorShard::kElementsOnLoop; ++i) looks.push_back(look("a"));
  const uint64_t jobs = jobs_of_workers();
  durability.sync();
  EXPECT_EQ(looks.back()->text(), "(nothing)");
  world.run_until_idle();
  EXPECT_EQ(looks.front()->text(), "1");
  EXPECT_EQ(looks.back()->text(), "1");
  EXPECT_EQ(jobs_of_workers() - jobs, 1U);
}

TEST_F(CoordinatorShardTest, AShardIsStoppedWhenItsLongStepHasEnded) {
  open_and_load();
  const auto answer = step([](Words& words, Reply<std::string> reply, const CoordinatorTime&,
                              CoordinatorOutcome& outcome) { words.say("a", "1", std::move(reply), outcome); },
                           CoordinatorShard::kElementsOnLoop + 1);
  EXPECT_EQ(answer->text(), "(nothing)");
  stop();
  EXPECT_NE(answer->text(), "(nothing)");
}

TEST_F(CoordinatorShardTest, ALargeStateIsDestroyedByAWorker) {
  open_and_load();
  step([](Words& words, Reply<std::string>, const CoordinatorTime&, CoordinatorOutcome&) { words.set_elements(5000); });
  const uint64_t jobs = jobs_of_workers();
  stop();
  EXPECT_EQ(jobs_of_workers() - jobs, 1U);
}

TEST_F(CoordinatorShardTest, ALoadedShardKnowsWhatTheOneBeforeItHasSaid) {
  open_and_load();
  for (int i = 0; i < 1000; ++i) {
    say("word" + std::to_string(i % 7), std::to_string(i));
    if (i % 10 == 0) sync();
  }
  sync();
  stop();
  open();
  EXPECT_EQ(look("word6")->text(), "COORDINATOR_LOAD_IN_PROGRESS");
  world.run_until_idle();
  EXPECT_EQ(look("word6")->text(), "993");  // the last number below 1000 that is 6 more than a multiple of 7
}

TEST_F(CoordinatorShardTest, AfterAFailedWriteTheStateIsWhatTheLogSays) {
  open_and_load();
  say("a", "old");
  sync();
  const auto waiting = step([](Words& words, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome&) {
    words.wait("b", std::move(reply));
  });
  node.disk().set_capacity(0);
  const auto lost = say("a", "new");
  EXPECT_EQ(lost->text(), "COORDINATOR_NOT_AVAILABLE");
  EXPECT_EQ(waiting->text(), "COORDINATOR_NOT_AVAILABLE");
  EXPECT_EQ(look("a")->text(), "COORDINATOR_LOAD_IN_PROGRESS");
  node.disk().set_capacity(1 << 30);
  world.run_for(2s);
  EXPECT_EQ(look("a")->text(), "old");
  const auto again = say("a", "new");
  sync();
  EXPECT_EQ(again->text(), "new");
}

// Else it would serve without what the next coordinator finds in the log.
TEST_F(CoordinatorShardTest, AfterAFailedSyncItServesWhenTheLogIsCommittedToItsEnd) {
  open_and_load();
  say("a", "old");
  sync();
  const auto lost = say("a", "new");
  durability.fail();
  world.run_for(1ms);
  EXPECT_EQ(lost->text(), "COORDINATOR_NOT_AVAILABLE");
  const int asked = durability.asked;
  world.run_for(10s);
  EXPECT_EQ(look("a")->text(), "COORDINATOR_LOAD_IN_PROGRESS") << "'new' is in the log, and may be durable any time";
  EXPECT_EQ(durability.asked, asked + 1) << "nobody else would sync it";
  durability.fail();
  world.run_for(500ms);
  EXPECT_EQ(durability.asked, asked + 1) << "a disk that is full is so for a while";
  world.run_for(1s);
  EXPECT_EQ(durability.asked, asked + 2);
  EXPECT_EQ(look("a")->text(), "COORDINATOR_LOAD_IN_PROGRESS");
  sync();
  world.run_for(1s);
  EXPECT_EQ(look("a")->text(), "new");
  stop();
  open_and_load();
  EXPECT_EQ(look("a")->text(), "new") << "as the next one says";
}

TEST_F(CoordinatorShardTest, WithoutThatItServesWithoutWhatItsLogHolds) {
  const PlantedCanary planted(Canary::reload_before_committed);
  open_and_load();
  say("a", "old");
  sync();
  say("a", "new");
  durability.fail();
  world.run_for(10s);
  EXPECT_EQ(look("a")->text(), "old");
  stop();
  open_and_load();
  EXPECT_EQ(look("a")->text(), "new") << "as the next one says";
}

TEST_F(CoordinatorShardTest, WhenItStopsWhatIsOnItsWayIsAnsweredAndEverybodyElseIsSentAway) {
  open_and_load();
  const auto waiting = step([](Words& words, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome&) {
    words.wait("b", std::move(reply));
  });
  const auto on_its_way = say("a", "1");
  const auto gathered = say("a", "2");
  world.run_task(shard->stop());
  EXPECT_EQ(waiting->text(), "NOT_COORDINATOR");
  EXPECT_EQ(gathered->text(), "NOT_COORDINATOR");
  EXPECT_EQ(on_its_way->text(), "(nothing)");
  sync();
  EXPECT_EQ(on_its_way->text(), "1");
  EXPECT_EQ(look("a")->text(), "NOT_COORDINATOR");
}

TEST_F(CoordinatorShardTest, TimersAreStepsToo) {
  open_and_load();
  const MonotonicTime at = process->seams().clock.now() + 10s;
  step([at](Words& words, Reply<std::string> reply, const CoordinatorTime&, CoordinatorOutcome& outcome) {
    words.set_alarm(at);
    outcome.answer<std::string>(std::move(reply), "");
  });
  world.run_for(9s);
  EXPECT_EQ(look("alarm")->text(), "");
  world.run_for(2s);
  EXPECT_EQ(durability.asked, 1);
  sync();
  EXPECT_EQ(look("alarm")->text(), "rang");
}

TEST_F(CoordinatorShardTest, ALogThatCannotBeUnderstoodIsNotServed) {
  open_and_load();
  shard->run({.run =
                  [](StateShard&, const CoordinatorTime&, CoordinatorOutcome& outcome) {
                    const BytesView key = as_bytes(std::string_view("gibberish"));
                    outcome.records.push_back({Bytes(key.begin(), key.end()), std::nullopt});
                  },
              .refuse = [](const Status&) {}});
  sync();
  stop();
  open_and_load();
  EXPECT_EQ(look("a")->text(), "COORDINATOR_NOT_AVAILABLE");
  EXPECT_EQ(load_failures(), 1U);
  world.run_for(1h);
  EXPECT_EQ(load_failures(), 1U) << "it is not read again";
}

TEST_F(CoordinatorShardTest, ALogThatCannotBeReadNowIsReadAgain) {
  open_and_load();
  say("a", "1");
  sync();
  stop();
  open();
  node.disk().set_fault_rate(FileOperation::read, 1);
  world.run_for(10s);
  EXPECT_EQ(look("a")->text(), "COORDINATOR_LOAD_IN_PROGRESS");
  EXPECT_EQ(load_failures(), 4U) << "at 0, 1, 3 and 7 seconds";
  node.disk().clear_faults();
  world.run_for(30s);
  EXPECT_EQ(look("a")->text(), "1");
}

}  // namespace
}  // namespace naru
