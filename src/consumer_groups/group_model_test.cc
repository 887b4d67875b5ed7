// Random lives of groups against a model: see group_model_testing.h.
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "consumer_groups/group_model_testing.h"
#include "foundation/log.h"

namespace naru {
namespace {

class NothingUnread final : public UnreadRecords {
 public:
  bool has_unread(const GroupPartition&, const CommittedOffset&) const override { return false; }
  bool topic_exists(std::string_view, const CommittedOffset&) const override { return true; }
};

class ModelGroup {
 public:
  ModelGroup(TestCoordinator& test, std::string name) : test_(test), name_(std::move(name)) {
    const auto add = [&](std::string consumer, std::optional<std::string> instance_id) {
      consumers_.push_back(
          std::make_unique<ModelConsumer>(test_, model_, name_, std::move(consumer), std::move(instance_id)));
    };
    add("a", std::nullopt);
    add("b", std::nullopt);
    add("c", std::nullopt);
    add("s", "one");
    add("t", "two");
    add("u", "two");  // fights with t
  }

  void act(std::mt19937_64& random) {
    ModelConsumer& consumer = *consumers_[random() % consumers_.size()];
    const auto offset = static_cast<int64_t>(random() % 1000);
    switch (random() % 16) {
      case 0:
      case 1:
        return consumer.join(random() % 2 == 0);
      case 2:
      case 3:
      case 4:
      case 5:
        return consumer.look_at_answers();
      case 6:
      case 7:
        return consumer.heartbeat();
      case 8:
      case 9:
        return consumer.commit(0, offset);
      case 10:
        return consumer.commit(random() % 4, offset);
      case 11:
        return random() % 3 == 0 ? consumer.leave() : consumer.heartbeat();
      case 12:
        return random() % 3 == 0 ? consumer.forget() : consumer.heartbeat();
      case 13:
        return administrate(random);
      default:
        return behave();
    }
  }

  void expect_offsets_of_model() { model_.expect_offsets(test_.fetch({.group_id = name_})); }

  // Every consumer does what it should, for as long as it takes.
  void behave() {
    for (auto& consumer : consumers_) {
      consumer->look_at_answers();
      if (consumer->is_waiting()) continue;
      if (consumer->is_settled()) {
        consumer->heartbeat();
      } else {
        consumer->join(true);
      }
    }
  }

  // u gives up, since its id is t's; the others shall come to rest in one generation and own everything.
  void expect_to_settle() {
    consumers_.back()->leave();
    consumers_.pop_back();
    for (int i = 0; i < 60; ++i) {
      behave();
      test_.advance(1s);
    }
    std::set<int> owned;
    for (const auto& consumer : consumers_) {
      ASSERT_TRUE(consumer->is_settled());
      EXPECT_EQ(consumer->generation(), consumers_[0]->generation());
      for (const int partition : consumer->owned()) EXPECT_TRUE(owned.insert(partition).second);
      consumer->commit(0, 5000);
    }
    EXPECT_EQ(owned.size(), kModelPartitions);
    EXPECT_EQ(test_.describe(name_).state, "Stable");
    expect_offsets_of_model();
  }

 private:
  void administrate(std::mt19937_64& random) {
    const auto partition = static_cast<int>(random() % kModelPartitions);
    switch (random() % 8) {
      case 0:
        if (test_.delete_group(name_) == ErrorCode::none) model_.all_forgotten();
        break;
      case 1:
        if (test_.delete_offsets(name_, {model_partition(partition)}).partitions == std::vector{ErrorCode::none}) {
          model_.forgotten(partition);
        }
        break;
      case 2:
        if (test_.commit(name_, {}, model_partition(partition), 77) == ErrorCode::none) {
          model_.accepted({}, partition, 77);
        }
        break;
      case 3:
        test_.expire_offsets(NothingUnread());
        break;
      case 4:
        test_.topics_deleted({{"t", Uuid{}}});
        model_.all_forgotten();
        break;
      default:
        break;
    }
    if (!test_.coordinator->durable_state().groups.contains(name_)) model_.begin_anew();
  }

  TestCoordinator& test_;
  const std::string name_;
  GroupModel model_;
  std::vector<std::unique_ptr<ModelConsumer>> consumers_;
};

void live_at_random(uint64_t seed) {
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  TestCoordinator test({.initial_rebalance_delay = Milliseconds(random() % 2 * 3000)});
  ModelGroup group(test, "g");
  for (int i = 0; i < 400; ++i) {
    group.act(random);
    group.expect_offsets_of_model();
    const uint64_t pause = random() % 100;
    if (pause < 40) test.advance(Milliseconds(random() % 2000));
    if (pause == 98) test.advance(25s);  // longer than sessions and rebalances
    if (pause == 99) test.restart(random() % 2 == 0);
    if (testing::Test::HasFailure()) return;
  }
  group.expect_to_settle();
}

TEST(GroupModel, NeverTwoOwnersThatBothCanCommitAndNoOffsetThatNobodyAskedFor) {
  silence_log();
  for (uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) live_at_random(seed);
}

}  // namespace
}  // namespace naru
