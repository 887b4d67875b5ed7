#include "cluster_control/metadata_feed.h"

#include <string>

#include <gtest/gtest.h>

#include "cluster_control/alter_configs.h"
#include "cluster_control/create_partitions.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/delete_topics.h"
#include "cluster_control/metadata_bench.h"
#include "coordination_store/simulated/run_in_world.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

MetadataKeyChange put_change(std::string key, std::string_view value, KeyVersion version) {
  const BytesView bytes = as_bytes(value);
  return {std::move(key), SharedBytes(Bytes(bytes.begin(), bytes.end())), version};
}

class MetadataFeedTest : public testing::Test {
 protected:
  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("controller").start();
  MetadataFeed feed_{process_->seams().scheduler};
};

TEST_F(MetadataFeedTest, IsClosedUntilTheOfficeIsOpen) {
  feed_.publish({put_change("a", "1", 1)});
  EXPECT_EQ(feed_.changes_since({}).error().code(), ErrorCode::not_controller);
  feed_.open(3);
  const auto answer = feed_.changes_since({});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->full);
  EXPECT_EQ(answer->position, (FeedPosition{3, 1}));
  feed_.close();
  EXPECT_FALSE(feed_.changes_since({}));
}

TEST_F(MetadataFeedTest, ARecentPositionGetsTheNewestChangeOfEachKey) {
  feed_.open(3);
  feed_.publish({put_change("a", "1", 1), put_change("b", "1", 1)});
  const FeedPosition position = feed_.changes_since({})->position;
  feed_.publish({put_change("a", "2", 2), put_change("c", "1", 1)});
  feed_.publish({put_change("a", "3", 3), {"c", std::nullopt, 0}});
  const auto answer = feed_.changes_since(position);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->full);
  ASSERT_EQ(answer->changes.size(), 2u);
  EXPECT_EQ(answer->changes[0].version, 3);
  EXPECT_EQ(as_text(answer->changes[0].value->view()), "3");
  EXPECT_EQ(answer->changes[1].key, "c");
  EXPECT_FALSE(answer->changes[1].value);
  EXPECT_TRUE(feed_.changes_since(answer->position)->changes.empty());
}

TEST_F(MetadataFeedTest, OldPositionsThoseOfOtherOfficesAndImpossibleOnesGetEverything) {
  feed_.open(3);
  for (size_t i = 0; i < MetadataFeed::kMaxPublications + 1; ++i) {
    feed_.publish({put_change("a", std::to_string(i), static_cast<KeyVersion>(i))});
  }
  EXPECT_FALSE(feed_.changes_since({3, 1})->full);
  for (const FeedPosition position :
       {FeedPosition{3, 0}, FeedPosition{2, 500}, FeedPosition{4, 500}, FeedPosition{3, 5000}, FeedPosition{3, -1}}) {
    const auto answer = feed_.changes_since(position);
    EXPECT_TRUE(answer->full);
    EXPECT_EQ(answer->changes.size(), 1u);
  }
}

TEST_F(MetadataFeedTest, LargeChangesAreNotKeptForLong) {
  feed_.open(3);
  const std::string megabyte(1u << 20, 'x');
  for (int i = 0; i < 6; ++i) feed_.publish({put_change("a", megabyte, i)});
  EXPECT_TRUE(feed_.changes_since({3, 1})->full);
  EXPECT_FALSE(feed_.changes_since({3, 5})->full);
}

TEST_F(MetadataFeedTest, ReadingEverythingAgainPublishesWhatDiffers) {
  const auto key = [](std::string name, std::string_view value, KeyVersion version) {
    const MetadataKeyChange change = put_change(std::move(name), value, version);
    return KeyValue{change.key, *change.value, change.version};
  };
  feed_.replace({key("a", "1", 1), key("b", "1", 1)});
  feed_.open(3);
  feed_.replace({key("a", "1", 1), key("b", "1", 1)});
  EXPECT_TRUE(feed_.changes_since({3, 1})->changes.empty());
  feed_.replace({key("b", "1", 2), key("c", "1", 1)});
  const auto answer = feed_.changes_since({3, 1});
  ASSERT_EQ(answer->changes.size(), 3u);
  EXPECT_FALSE(answer->changes[0].value);
}

TEST_F(MetadataFeedTest, APollWaitsForTheNextPublicationOrItsDeadline) {
  feed_.open(3);
  feed_.publish({put_change("a", "1", 1)});
  const MonotonicTime deadline = world_.now() + 10s;
  const auto nothing = run_in(world_, feed_.poll({3, 1}, deadline, {}));
  EXPECT_TRUE(nothing->changes.empty());
  EXPECT_GE(world_.now(), deadline);

  const MonotonicTime published = world_.now() + 1s;
  process_->seams().scheduler.start_timer(published, [this] { feed_.publish({put_change("a", "2", 2)}); });
  const auto news = run_in(world_, feed_.poll({3, 1}, world_.now() + 10s, {}));
  EXPECT_EQ(news->changes.size(), 1u);
  EXPECT_LT(world_.now(), published + 100ms);

  process_->seams().scheduler.start_timer(world_.now() + 1s, [this] { feed_.close(); });
  EXPECT_EQ(run_in(world_, feed_.poll(news->position, world_.now() + 10s, {})).error().code(),
            ErrorCode::not_controller);
}

TEST(MetadataFollower, IgnoresWhatIsOlderAndChangesOfAnotherImage) {
  MetadataBench bench(2);
  FeedAnswer everything{.position = {2, 7}, .full = true};
  for (const auto& [key, entry] : bench.store().entries()) {
    everything.changes.push_back({key, entry.value, entry.version});
  }
  MetadataFollower follower;
  ASSERT_TRUE(*follower.apply({}, everything));
  EXPECT_TRUE(*follower.image() == bench.image());
  EXPECT_FALSE(*follower.apply({}, {.position = {1, 90}, .full = true}));
  EXPECT_FALSE(*follower.apply({}, {.position = {2, 6}, .full = true}));
  const std::vector<MetadataKeyChange> gone{{"brokers/1", std::nullopt, 0}};
  EXPECT_FALSE(*follower.apply({2, 6}, {.position = {2, 8}, .changes = gone}));
  EXPECT_FALSE(*follower.apply({2, 7}, {.position = {3, 8}, .changes = gone}));
  EXPECT_EQ(follower.image()->brokers().size(), 2u);
  EXPECT_TRUE(*follower.apply({2, 7}, {.position = {2, 8}, .changes = gone}));
  EXPECT_EQ(follower.image()->brokers().size(), 1u);
}

// Random metadata: an image by changes, one by everything, and the controller's are the same.
class FeedModel {
 public:
  explicit FeedModel(uint64_t seed) : random_(seed) {}

  void run(int steps) {
    feed_.open(1);
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      change_something();
      tell_feed();
      for (MetadataFollower& follower : followers_) {
        if (random_.one_in(3)) catch_up(follower);
      }
      MetadataFollower newcomer;
      catch_up(newcomer);
    }
    for (MetadataFollower& follower : followers_) catch_up(follower);
  }

 private:
  void change_something() {
    const std::string name = "topic" + std::to_string(random_.below(8));
    const BrokerId broker(static_cast<int32_t>(random_.below(3)));
    const TopicMetadata* topic = bench_.image().find_topic(std::string_view(name));
    switch (random_.below(6)) {
      case 0:
      case 1: {
        CreateTopicsRequest request;
        request.topics.push_back({.name = name, .partition_count = 3, .replication_factor = 1, .id = {7, next_id_++}});
        CreateTopicsPlanner planner(std::move(request), config_, 0);
        return bench_.run(planner);
      }
      case 2: {
        DeleteTopicsPlanner planner({{.name = name}}, config_);
        return bench_.run(planner);
      }
      case 3: {
        AlterConfigsPlanner planner({{ConfigResource::topic, name, {{"retention.ms", std::to_string(next_id_++)}}}},
                                    false, config_);
        return bench_.run(planner);
      }
      case 4: {
        CreatePartitionsPlanner planner({{.topic = name, .count = topic == nullptr ? 1 : topic->partition_count() + 1}},
                                        false);
        return bench_.run(planner);
      }
      default:
        if (bench_.image().find_broker(broker) == nullptr) {
          bench_.register_broker(broker, random_.one_in(2), {MetadataBench::directory_of(broker)});
        } else if (bench_.image().brokers().size() > 1) {
          bench_.lose_broker(broker);
        }
        return bench_.settle();
    }
  }

  void tell_feed() {
    std::vector<KeyValue> keys;
    for (const auto& [key, entry] : bench_.store().entries()) keys.push_back({key, entry.value, entry.version});
    feed_.replace(keys);
  }

  void catch_up(MetadataFollower& follower) {
    const FeedPosition from = follower.position();
    const auto answer = feed_.changes_since(from);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->full, from.controller_epoch == -1);
    const auto applied = follower.apply(from, *answer);
    ASSERT_TRUE(applied) << applied.error().to_string();
    EXPECT_TRUE(*follower.image() == bench_.image());
  }

  SimulatedRandom random_;
  const BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{3};
  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("controller").start();
  MetadataFeed feed_{process_->seams().scheduler};
  MetadataFollower followers_[3];
  uint64_t next_id_ = 1;
};

TEST(MetadataFollower, FollowsRandomChangesToTheSameImage) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    FeedModel(seed).run(120);
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace naru
