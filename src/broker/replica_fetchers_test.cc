// A broker that follows partitions of a leader which says what the test wants; what it serves comes from real logs.
#include "broker/replica_fetchers.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>

#include "client/fake_broker_testing.h"
#include "kafka_protocol/messages/naru_producers_request.h"
#include "log_storage/file_sync_service.h"
#include "log_storage/partition_folder.h"
#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "replication/partition_maintenance.h"

namespace naru {
namespace {

constexpr uint16_t kLeaderPort = 9092;
using Received = client::FakeBroker::Request;

// One side: partitions of one topic each on a disk.
class Side {
 public:
  Side(SimulatedWorld& world, const std::string& name, int32_t id)
      : id_(id), node_(world.add_node(name)), process_(node_.start()), durability_(process_->seams().scheduler) {}

  std::shared_ptr<Partition> make(int number) {
    const Uuid topic{9, static_cast<uint64_t>(number)};
    const std::string folder = fmt::format("/t{}-0", number);
    EXPECT_TRUE(node_.disk().create_directories(folder).ok());
    EXPECT_TRUE(fill_new_partition_folder(node_.disk(), folder, topic).ok());
    auto opened = PartitionLog::open(node_.disk(), open_files_, folder, log_config_of(config_), {.topic_id = topic});
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    const Seams seams = process_->seams();
    auto partition = std::make_shared<Partition>(
        PartitionIdentity{fmt::format("t{}", number), topic, PartitionIndex(0)}, std::move(opened->log), BrokerId(id_),
        config_, PartitionServices{seams.clock, seams.scheduler, durability_, unsynced_logs_});
    return partitions.emplace(topic, std::move(partition)).first->second;
  }
  Seams seams() { return process_->seams(); }
  // From now on.
  void set_sync_time(Duration time) { process_->scheduler().set_disk_timing({.usual_min = time, .usual_max = time}); }

  std::map<Uuid, std::shared_ptr<Partition>> partitions;
  MetricsRegistry metrics;

 private:
  const int32_t id_;
  SimulatedNode& node_;
  std::unique_ptr<SimulatedProcess> process_;
  OpenFiles open_files_{node_.disk(), 8};
  UnsyncedLogs unsynced_logs_{{.sync_beyond = 100, .full = 200}, metrics};
  FileSyncService durability_;
  const TopicConfig config_ = resolve_topic_config(*make_broker_config({}), {});
};

class FollowingBroker : public testing::Test {
 protected:
  FollowingBroker() {
    config.fetch_wait_max = Milliseconds(500);
    leader_broker.on(kafka::ApiKey::fetch, [this](const Received& request) { return serve(request); });
    leader_broker.on(kafka::ApiKey::naru_producers,
                     [this](const Received& request) { return tell_producers(request); });
  }
  void TearDown() override {
    if (!stopped) world.run_task(fetchers.stop());
    for (auto* side : {&leader, &follower}) {
      for (const auto& [topic, partition] : side->partitions) {
        const auto close = [partition]() -> Task<void> {
          ignore(co_await partition->close(Status(ErrorCode::shutting_down), LogFate::kept));
        };
        world.run_task(close());
      }
    }
  }

  void add_partition(int number) {
    add_partition_without_roles(number);
    for (const auto& partition : {led(number), followed(number)}) assign(*partition);
  }
  static void assign(Partition& partition, LeaderEpoch epoch = LeaderEpoch(3)) {
    partition.assign({.leader = BrokerId(1),
                      .leader_epoch = epoch,
                      .partition_epoch = 1,
                      .replicas = {BrokerId(1), BrokerId(2)},
                      .isr = {BrokerId(1), BrokerId(2)}});
  }
  void add_partition_without_roles(int number) {
    leader.make(number);
    const auto followed = follower.make(number);
    list.push_back({.partition = followed,
                    .leader = BrokerId(1),
                    .leader_broker_epoch = 7,
                    .leader_address = {door.host(), kLeaderPort},
                    .leader_epoch = LeaderEpoch(3)});
  }
  std::shared_ptr<Partition> led(int number) { return leader.partitions.at(Uuid{9, static_cast<uint64_t>(number)}); }
  std::shared_ptr<Partition> followed(int number) {
    return follower.partitions.at(Uuid{9, static_cast<uint64_t>(number)});
  }
  std::shared_ptr<AppendGroup> produce(int number, ProducerId producer = kNoProducerId, int records = 1) {
    BatchOptions options;
    options.producer_id = producer;
    options.producer_epoch = ProducerEpoch(producer == kNoProducerId ? -1 : 0);
    options.base_sequence = producer == kNoProducerId ? -1 : 0;
    BatchBuilder builder(options);
    for (int i = 0; i < records; ++i) builder.add(1000, std::nullopt, "value");
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {}, 1000);
    auto group = std::make_shared<AppendGroup>(1);
    led(number)->append({std::move(batch), std::move(*validated), Acks::all_in_sync}, group, 0);
    return group;
  }
  Duration time_to_stop() {
    const MonotonicTime begun = world.now();
    stopped = true;
    world.run_task(fetchers.stop());
    return world.now() - begun;
  }
  bool acknowledged(int number, Duration limit = 10s) {
    const auto group = produce(number);
    return world.run_until([&group] { return group->finished(); }, limit) && group->result(0).status.ok();
  }

  // A partition whose leader knows producer 5, and has deleted its batch; with 2 of `later_records`, one of them, too.
  void add_partition_without_begin(int number, int later_records = 1) {
    add_partition(number);
    produce(number, ProducerId(5));
    produce(number, kNoProducerId, later_records);
    const auto erase = [&]() -> Task<void> {
      EXPECT_TRUE((co_await move_start(led(number), leader.seams().scheduler, Offset(2))).has_value());
    };
    world.run_task(erase());
  }
  std::optional<Bytes> tell_producers(const Received& request) {
    const auto asked = request.body<kafka::NaruProducersRequest>();
    EXPECT_EQ(asked.broker_id, BrokerId(2));
    EXPECT_EQ(asked.broker_epoch, follower_epoch);
    kafka::NaruProducersResponse response;
    for (const auto& topic : asked.topics) {
      auto& answered = response.topics.emplace_back();
      answered.topic_id = topic.topic_id;
      auto& told = answered.partitions.emplace_back();
      told.error_code = ErrorCode::request_timed_out;
      if (refuse_producers-- > 0) continue;
      const auto look = [&]() -> Task<void> {
        const auto producers = co_await leader.partitions.at(topic.topic_id)
                                   ->producers_at_start(topic.partitions.front().current_leader_epoch);
        told.error_code = producers ? ErrorCode::none : producers.error().code();
        if (producers) told.log_start_offset = producers->start;
        if (producers) told.snapshot = producers->snapshot;
      };
      TaskGroup tasks;
      tasks.spawn(look());
      EXPECT_EQ(tasks.running(), 0u) << "nobody else is inside";
    }
    return request.answer(response);
  }

  // A leader with one session, which answers at once.
  std::optional<Bytes> serve(const Received& request) {
    const auto asked = request.body<kafka::FetchRequest>();
    EXPECT_EQ(asked.replica_state.replica_id, BrokerId(2));
    EXPECT_EQ(asked.replica_state.replica_epoch, follower_epoch);
    kafka::FetchResponse response;
    if (asked.session_epoch == 0) {
      session.clear();
      ++full_requests;
    } else if (asked.session_epoch != next_session_epoch || forget_session) {
      forget_session = false;
      response.error_code = ErrorCode::fetch_session_id_not_found;
      return request.answer(response);
    }
    next_session_epoch = asked.session_epoch + 1;
    for (const auto& topic : asked.forgotten_topics_data) {
      session.erase(topic.topic_id);
      ++times_forgotten[topic.topic_id];
    }
    for (const auto& topic : asked.topics) {
      session[topic.topic_id] = topic.partitions.front();
      ++times_told[topic.topic_id];
    }
    response.session_id = 77;
    for (const auto& [topic, wanted] : session) {
      if (wanted.flushed_offset < wanted.fetch_offset) longest_wait_ms = std::max(longest_wait_ms, asked.max_wait_ms);
    }
    bool has_data = false;
    for (const auto& [topic, wanted] : session) has_data |= answer_partition(topic, wanted, response);
    if (const auto change = std::exchange(before_answer, nullptr)) change();
    if (hold_waiting && asked.max_wait_ms > 0 && !has_data) return std::nullopt;
    if (hold_at_once && asked.max_wait_ms == 0) {
      ++held_at_once;
      return std::nullopt;
    }
    return request.answer(response);
  }
  bool answer_partition(const Uuid& topic, const kafka::FetchRequest::FetchPartition& wanted,
                        kafka::FetchResponse& response) {
    auto& answered = response.responses.emplace_back();
    answered.topic_id = topic;
    auto& partition = answered.partitions.emplace_back();
    if (refused.contains(topic)) {
      partition.error_code = ErrorCode::not_leader_or_follower;
      ++refusals;
      return true;
    }
    PartitionView view;
    const auto read = [&]() -> Task<void> {
      view =
          co_await leader.partitions.at(topic)->read_as_follower({.replica = BrokerId(2),
                                                                  .broker_epoch = follower_epoch,
                                                                  .from = wanted.fetch_offset,
                                                                  .last_fetched_epoch = wanted.last_fetched_epoch,
                                                                  .flushed_end = wanted.flushed_offset,
                                                                  .log_start = wanted.log_start_offset,
                                                                  .current_leader_epoch = wanted.current_leader_epoch,
                                                                  .answered_question = wanted.answered_question,
                                                                  .max_bytes = 1 << 20,
                                                                  .at_least_one_batch = true});
    };
    TaskGroup tasks;
    tasks.spawn(read());
    EXPECT_EQ(tasks.running(), 0u) << "nobody else is inside";
    partition.error_code = view.status.code();
    partition.high_watermark = view.high_watermark;
    partition.log_start_offset = view.log_start_offset;
    partition.question = view.question;
    partition.diverging_epoch = {.epoch = view.diverging.epoch, .end_offset = view.diverging.end_offset};
    if (view.slice.empty()) return false;
    Bytes bytes(view.slice.bytes);
    EXPECT_TRUE(view.slice.file->read_at(view.slice.position, bytes).has_value());
    if (std::exchange(damage_next, false)) bytes.back() ^= std::byte{1};
    partition.records = std::move(bytes);
    return true;
  }

  SimulatedWorld world{1};
  Side leader{world, "leader", 1};
  Side follower{world, "follower", 2};
  SimulatedNode& door = world.add_node("door");  // of the leader
  client::FakeBroker leader_broker{door, kLeaderPort};
  std::map<Uuid, kafka::FetchRequest::FetchPartition> session;
  std::map<Uuid, int> times_told;
  std::map<Uuid, int> times_forgotten;
  std::function<void()> before_answer;  // once
  std::set<Uuid> refused;
  int refusals = 0;
  int refuse_producers = 0;
  int full_requests = 0;
  int32_t longest_wait_ms = 0;  // of a fetch while something is not durable at the follower
  int32_t next_session_epoch = 0;
  int64_t follower_epoch = 55;
  bool forget_session = false;
  bool hold_waiting = false;
  bool hold_at_once = false;  // fetches that do not ask to wait
  int held_at_once = 0;
  bool damage_next = false;
  bool stopped = false;
  ReplicationConfig config = make_broker_config({})->replication;
  std::vector<FollowedPartition> list;
  ReplicaFetchers fetchers{follower.seams(), config, BrokerId(2), [this] { return follower_epoch; }, follower.metrics};
};

TEST_F(FollowingBroker, BringsRecordsAndTellsTheLeaderWhatIsDurable) {
  for (const int number : {1, 2, 3}) add_partition(number);
  fetchers.follow({.changed = list, .dropped = {}});
  for (int round = 0; round < 5; ++round) {
    for (const int number : {1, 2, 3}) ASSERT_TRUE(acknowledged(number));
  }
  world.run_for(2s);
  for (const int number : {1, 2, 3}) {
    EXPECT_EQ(followed(number)->log().end_offset(), Offset(5));
    EXPECT_EQ(followed(number)->log().durable_end(), Offset(5));
  }
  EXPECT_EQ(full_requests, 1);
  EXPECT_EQ(leader_broker.connections(), 1u);
  EXPECT_EQ(fetchers.max_lag(), 0);
}

// A log that has just been opened is known before it is told whom to follow.
TEST_F(FollowingBroker, APartitionThatDoesNotFollowYetIsFetchedWhenItDoes) {
  add_partition(1);
  add_partition_without_roles(2);
  assign(*led(2));
  fetchers.follow({.changed = list, .dropped = {}});
  EXPECT_TRUE(acknowledged(1));
  world.run_for(5s);
  assign(*followed(2));
  EXPECT_TRUE(acknowledged(2));
}

TEST_F(FollowingBroker, ALostSessionOrConnectionIsMadeAnew) {
  add_partition(1);
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(1));
  forget_session = true;
  ASSERT_TRUE(acknowledged(1));
  EXPECT_EQ(full_requests, 2);
  EXPECT_EQ(leader_broker.connections(), 1u);
  world.network().cut_all();
  ASSERT_TRUE(acknowledged(1));
  EXPECT_GE(leader_broker.connections(), 2u);
}

TEST_F(FollowingBroker, AnIdlePartitionIsToldAgainWhenThisBrokerIsRegisteredAnew) {
  for (const int number : {1, 2}) add_partition(number);
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(1));
  world.run_for(2s);
  ASSERT_EQ(full_requests, 1);
  follower_epoch = 56;
  world.run_for(2s);
  EXPECT_EQ(full_requests, 2);
  EXPECT_EQ(session.size(), 2u);
  EXPECT_EQ(leader_broker.connections(), 1u);
  EXPECT_TRUE(acknowledged(2));
}

// A leader that was told before it heard that the controller had taken this broker out waits for the next time.
TEST_F(FollowingBroker, AnIdlePartitionIsToldAgainAndAgainWhileThisBrokerIsNotInSync) {
  for (const int number : {1, 2}) add_partition(number);
  list[0].in_sync = false;
  fetchers.follow({.changed = list, .dropped = {}});
  world.run_for(1s);
  times_told.clear();
  world.run_for(21s);
  EXPECT_EQ(times_told, (std::map<Uuid, int>{{Uuid{9, 1}, 4}})) << "not more often than that, and nothing of the other";
  EXPECT_EQ(full_requests, 1);
  list[0].in_sync = true;
  fetchers.follow({.changed = {list[0]}, .dropped = {}});
  times_told.clear();
  world.run_for(21s);
  EXPECT_TRUE(times_told.empty());
}

TEST_F(FollowingBroker, AQuestionOfTheLeaderIsAnsweredOnce) {
  for (const int number : {1, 2}) add_partition(number);
  fetchers.follow({.changed = list, .dropped = {}});
  world.run_for(1s);
  times_told.clear();
  Status proven(ErrorCode::request_timed_out);
  led(1)->prove_leadership(kNoLeaderEpoch, [&proven](const Status& status) { proven = status; });
  world.run_for(2s);
  EXPECT_TRUE(proven.ok()) << proven.to_string();
  EXPECT_EQ(times_told, (std::map<Uuid, int>{{Uuid{9, 1}, 1}}));
}

// The leader's numbers may begin anew with its next life.
TEST_F(FollowingBroker, AQuestionOfAnEarlierConnectionIsNotAnswered) {
  add_partition(1);
  fetchers.follow({.changed = list, .dropped = {}});
  world.run_for(1s);
  hold_at_once = hold_waiting = true;
  world.run_for(1s);
  led(1)->prove_leadership(kNoLeaderEpoch, [](const Status&) {});
  hold_at_once = hold_waiting = false;
  world.network().cut_all();
  world.run_for(Milliseconds(1));
  for (int i = 0; i < 1000 && session.at(Uuid{9, 1}).answered_question == 0 && full_requests < 2; ++i) {
    world.run_for(Milliseconds(1));
  }
  EXPECT_EQ(session.at(Uuid{9, 1}).answered_question, 0);
}

// In the leader's session it counts as told.
TEST_F(FollowingBroker, WhatAnAnswerOfAnEarlierEpochHasToldIsAskedForAnew) {
  for (const int number : {1, 2}) add_partition(number);
  fetchers.follow({.changed = list, .dropped = {}});
  world.run_for(2s);
  ASSERT_TRUE(times_forgotten.empty());
  before_answer = [this] { assign(*followed(1), LeaderEpoch(4)); };
  for (const int number : {1, 2}) produce(number);
  world.run_for(Milliseconds(1));
  assign(*led(1), LeaderEpoch(4));
  world.run_for(2s);
  EXPECT_EQ(times_forgotten, (std::map<Uuid, int>{{Uuid{9, 1}, 1}}));
  EXPECT_EQ(session.size(), 2u);
  EXPECT_EQ(full_requests, 1);
  EXPECT_TRUE(acknowledged(1));
}

TEST_F(FollowingBroker, APartitionThatIsRefusedRestsAndDoesNotKeepTheOthers) {
  for (const int number : {1, 2}) add_partition(number);
  refused.insert(Uuid{9, 1});
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(2));
  world.run_for(20s);
  EXPECT_GE(refusals, 10);
  EXPECT_LE(refusals, 40) << "with pauses";
  ASSERT_TRUE(acknowledged(2));
  refused.clear();
  EXPECT_TRUE(acknowledged(1));
}

TEST_F(FollowingBroker, TheLeaderHearsSoonOfASyncThatWasSlow) {
  add_partition(1);
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(1));
  follower.set_sync_time(3s);
  ASSERT_TRUE(acknowledged(1));
  EXPECT_GT(longest_wait_ms, 0) << "meanwhile it asks for what is new";
  EXPECT_LE(longest_wait_ms, 50);
}

TEST_F(FollowingBroker, AnotherInSyncSetDoesNotEndTheWaitForASync) {
  add_partition(1);
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(1));
  follower.set_sync_time(400ms);
  produce(1);
  world.run_for(200ms);
  list[0].in_sync = false;
  fetchers.follow({.changed = list, .dropped = {}});
  world.run_for(1s);
  EXPECT_EQ(longest_wait_ms, 0) << "it asks for what is new only when a sync takes very long";
}

TEST_F(FollowingBroker, DamagedBytesAreFetchedAgain) {
  add_partition(1);
  damage_next = true;
  fetchers.follow({.changed = list, .dropped = {}});
  EXPECT_TRUE(acknowledged(1));
  EXPECT_FALSE(damage_next);
  EXPECT_EQ(followed(1)->log().end_offset(), Offset(1));
}

TEST_F(FollowingBroker, WhatIsNewIsFetchedAtOnceAlthoughAFetchWaitsAtTheLeader) {
  hold_waiting = true;
  add_partition(1);
  fetchers.follow({.changed = list, .dropped = {}});
  world.run_for(5s);
  add_partition(2);
  hold_waiting = false;
  fetchers.follow({.changed = list, .dropped = {}});
  EXPECT_TRUE(acknowledged(2, 200ms));
}

TEST_F(FollowingBroker, TheStartOfTheLogIsFollowedAndTheLeaderHearsOfIt) {
  add_partition(1);
  fetchers.follow({.changed = list, .dropped = {}});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(acknowledged(1));
  world.run_for(2s);
  Result<Offset> low;
  const auto erase = [&]() -> Task<void> {
    const Seams seams = leader.seams();
    const auto start = co_await delete_records(led(1), seams.scheduler, Offset(2));
    low = co_await await_deletion(led(1), seams.scheduler, *start, seams.clock.now() + 10s, {});
  };
  world.run_task(erase());
  ASSERT_TRUE(low.has_value()) << low.error().to_string();
  EXPECT_EQ(*low, Offset(2));
  EXPECT_EQ(followed(1)->log().start_offset(), Offset(2));
}

TEST_F(FollowingBroker, APartitionThatBeginsAnewKnowsTheProducersOfItsLeader) {
  refuse_producers = 2;
  for (const int number : {1, 2}) add_partition_without_begin(number, number);
  fetchers.follow({.changed = list, .dropped = {}});
  for (const int number : {1, 2}) {
    EXPECT_TRUE(acknowledged(number));
    EXPECT_EQ(followed(number)->log().start_offset(), Offset(2));
    EXPECT_NE(followed(number)->log().producers().find(ProducerId(5)), nullptr) << number;
  }
  EXPECT_LT(refuse_producers, 0) << "asked again after a refusal";
}

TEST_F(FollowingBroker, ALeaderOfAnOlderVersionIsFollowedWithoutItsProducers) {
  leader_broker.on(kafka::ApiKey::api_versions, [](const Received& request) {
    kafka::ApiVersionsResponse response;
    for (const kafka::ApiRow& row : kafka::kApiTable) {
      if (row.key == kafka::ApiKey::naru_producers) continue;
      response.api_keys.push_back({static_cast<int16_t>(row.key), row.min_advertised_version, row.max_version});
    }
    return request.answer(response);
  });
  add_partition_without_begin(1);
  fetchers.follow({.changed = list, .dropped = {}});
  EXPECT_TRUE(acknowledged(1));
  EXPECT_EQ(followed(1)->log().start_offset(), Offset(2));
  EXPECT_EQ(followed(1)->log().producers().find(ProducerId(5)), nullptr);
}

TEST_F(FollowingBroker, ALeaderThatComesBackIsFollowedAnew) {
  for (const int number : {1, 2}) add_partition(number);
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(1));
  for (FollowedPartition& partition : list) partition.leader_broker_epoch = 8;
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(1));
  ASSERT_TRUE(acknowledged(2));
  EXPECT_EQ(leader_broker.connections(), 2u);
}

TEST_F(FollowingBroker, WhatIsNotFollowedAnyMoreIsLeftAlone) {
  for (const int number : {1, 2}) add_partition(number);
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(1));
  fetchers.follow({.changed = {}, .dropped = {{Uuid{9, 1}, PartitionIndex(0)}}});
  world.run_for(1s);
  EXPECT_FALSE(session.contains((Uuid{9, 1})));
  EXPECT_FALSE(acknowledged(1, 3s));
  EXPECT_TRUE(acknowledged(2));
  fetchers.follow({.changed = {}, .dropped = {{Uuid{9, 2}, PartitionIndex(0)}}});
  world.run_for(5s);
  EXPECT_FALSE(acknowledged(2, 3s));
}

TEST_F(FollowingBroker, TheEndDoesNotWaitForALeaderThatDoesNotAnswerAFetch) {
  add_partition(1);
  fetchers.follow({.changed = list, .dropped = {}});
  ASSERT_TRUE(acknowledged(1));
  follower.set_sync_time(20s);  // so that the next fetch does not wait at the leader
  hold_at_once = true;
  produce(1);
  world.run_for(1s);
  ASSERT_EQ(held_at_once, 1);
  EXPECT_LT(time_to_stop(), 100ms);
}

TEST_F(FollowingBroker, TheEndDoesNotWaitForALeaderThatDoesNotSayWhatItUnderstands) {
  add_partition(1);
  int asked = 0;
  leader_broker.on(kafka::ApiKey::api_versions, [&asked](const Received&) {
    ++asked;
    return std::nullopt;
  });
  fetchers.follow({.changed = list, .dropped = {}});
  world.run_for(1s);
  ASSERT_EQ(asked, 1);
  EXPECT_LT(time_to_stop(), 100ms);
}

}  // namespace
}  // namespace naru
