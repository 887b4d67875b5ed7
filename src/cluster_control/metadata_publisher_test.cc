#include "cluster_control/metadata_publisher.h"

#include <gtest/gtest.h>

#include "async/wakeup.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"

namespace naru {
namespace {

// Single-threaded: what a task waits for is given by the test.
class MetadataPublisherTest : public testing::Test {
 protected:
  MetadataPublisherTest() {
    publisher_.subscribe_promptly([this](MetadataImagePtr image) { return be_told(std::move(image)); });
    publisher_.subscribe([this](MetadataImagePtr image) { return follow_slowly(std::move(image)); });
    publisher_.subscribe([this](MetadataImagePtr image) { return follow(std::move(image)); });
  }
  ~MetadataPublisherTest() override {
    disk_->wake();
    if (!stopped_) tasks_.spawn(stop_once());
    EXPECT_EQ(tasks_.running(), 0u);
  }
  Task<void> stop_once() {
    stopped_ = true;
    return publisher_.stop();
  }

  Task<void> be_told(MetadataImagePtr image) {
    told_.push_back(image->cluster().generation);
    co_return;
  }
  Task<void> follow_slowly(MetadataImagePtr image) {
    const auto disk = disk_;
    co_await disk->event();
    followed_slowly_.push_back(image->cluster().generation);
  }
  Task<void> follow(MetadataImagePtr image) {
    followed_.push_back(image->cluster().generation);
    co_return;
  }
  // Its generation.
  int64_t next_image() {
    bench_.settle();
    CreateTopicsPlanner planner({{{.name = "topic-" + std::to_string(next_), .id = {1, next_}}}, false}, config_, 0);
    ++next_;
    bench_.run(planner);
    return bench_.image().cluster().generation;
  }
  MetadataImagePtr image() const { return *bench_.rebuild(); }
  // Whether it has returned.
  bool done(Task<void> task) {
    const size_t before = tasks_.running();
    tasks_.spawn(std::move(task));
    return tasks_.running() == before;
  }

  const BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{1};
  uint64_t next_ = 1;
  bool stopped_ = false;
  std::shared_ptr<Wakeup> disk_ = std::make_shared<Wakeup>();
  std::vector<int64_t> told_, followed_, followed_slowly_;
  MetadataPublisher publisher_;
  TaskGroup tasks_;
};

TEST_F(MetadataPublisherTest, NobodyWaitsForASlowSubscriberButWhoWantsTheChangeToBeInEffect) {
  const int64_t first = next_image();
  EXPECT_TRUE(done(publisher_.show(image())));
  EXPECT_EQ(told_, std::vector{first});
  EXPECT_EQ(followed_, std::vector{first}) << "each has a lane of its own";
  EXPECT_TRUE(followed_slowly_.empty());
  EXPECT_FALSE(done(publisher_.take_effect()));
  const int64_t second = next_image();
  EXPECT_TRUE(done(publisher_.show(image())));
  EXPECT_EQ(told_, (std::vector{first, second}));
  EXPECT_EQ(publisher_.current()->cluster().generation, second);
  disk_->wake();
  EXPECT_EQ(tasks_.running(), 0u);
  EXPECT_EQ(followed_slowly_, (std::vector{first, second}));
}

TEST_F(MetadataPublisherTest, AfterAWhileOnlyTheNewestImageIsFollowed) {
  const int64_t first = next_image();
  EXPECT_TRUE(done(publisher_.show(image())));
  int64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    last = next_image();
    EXPECT_TRUE(done(publisher_.show(image())));
  }
  EXPECT_EQ(told_.size(), 11u);
  disk_->wake();
  EXPECT_EQ(followed_slowly_, (std::vector{first, last}));
  EXPECT_TRUE(done(publisher_.take_effect()));
  EXPECT_EQ(followed_slowly_.size(), 2u) << "there is nothing to do";
}

TEST_F(MetadataPublisherTest, ThereIsNothingToWaitForBeforeTheFirstImage) {
  EXPECT_TRUE(done(publisher_.take_effect()));
  EXPECT_TRUE(followed_.empty());
}

TEST_F(MetadataPublisherTest, AnImageOfAnEarlierControllerComesTooLate) {
  disk_->wake();
  const MetadataImagePtr old = image();
  bench_.store().apply({.deletes = {std::string(metadata_keys::kController)}}, 1);
  ClaimControllerPlanner claim(BrokerId(0), {1, 5}, {1, 1});
  bench_.run(claim);
  EXPECT_TRUE(done(publisher_.publish(image())));
  EXPECT_TRUE(done(publisher_.publish(old)));
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(followed_.size(), 1u);
}

TEST_F(MetadataPublisherTest, WhatCouldNotBeDoneIsTriedAgainWithTheSameImage) {
  disk_->wake();
  const int64_t first = next_image();
  EXPECT_TRUE(done(publisher_.publish(image())));
  disk_ = std::make_shared<Wakeup>();
  EXPECT_TRUE(done(publisher_.follow_again())) << "nobody waits for it";
  EXPECT_EQ(followed_, (std::vector{first, first}));
  EXPECT_EQ(followed_slowly_, std::vector{first});
  disk_->wake();
  EXPECT_EQ(followed_slowly_, (std::vector{first, first}));
  EXPECT_EQ(told_, std::vector{first}) << "roles are the same";
}

TEST_F(MetadataPublisherTest, NobodyFollowsWhenItHasStopped) {
  const int64_t first = next_image();
  EXPECT_TRUE(done(publisher_.show(image())));
  // One that promises its change waits for the first lane, and would follow in the second after that.
  EXPECT_FALSE(done(publisher_.take_effect()));
  next_image();
  EXPECT_TRUE(done(publisher_.show(image())));
  EXPECT_FALSE(done(stop_once())) << "somebody follows";
  disk_->wake();
  EXPECT_EQ(tasks_.running(), 0u);
  EXPECT_EQ(followed_slowly_, std::vector{first});
  next_image();
  EXPECT_TRUE(done(publisher_.publish(image())));
  EXPECT_TRUE(done(publisher_.follow_again()));
  EXPECT_EQ(told_.size(), 2u);
  EXPECT_EQ(followed_slowly_, std::vector{first});
}

}  // namespace
}  // namespace naru
