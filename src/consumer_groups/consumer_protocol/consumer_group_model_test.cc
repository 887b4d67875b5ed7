// Members that behave as clients do, on a network that loses requests and answers, with a coordinator that crashes.
//
// The reference is what the members believe: a member owns what it was given and has not dropped yet. However the
// broker computes it, no partition may be owned by two members that could both commit; and when the trouble is over,
// everybody has what it should have.
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "consumer_groups/consumer_protocol/consumer_group_testing.h"

namespace naru {
namespace {

// A member as a client keeps it.
struct ModelMember {
  std::string id;
  std::optional<std::string> instance_id;
  std::vector<std::string> topics;
  std::string expression;
  int32_t epoch = kJoinEpoch;
  PartitionSet owned;
  std::optional<PartitionSet> assigned;  // told, and not carried out yet
  bool must_say_everything = true;
  bool is_running = true;
  bool is_refused = false;  // somebody else has its instance id
};

class ConsumerGroupModel {
 public:
  explicit ConsumerGroupModel(uint64_t seed) : random_(seed) {
    for (const char* name : {"a1", "a2", "b1"}) f_.set_topic(name, static_cast<int32_t>(1 + pick(5)));
  }

  void step() {
    switch (pick(20)) {
      case 0:
        return start_member();
      case 1:
        return stop_member();
      case 2:
        return change_topics();
      case 3:
        return f_.reload(pick(2) == 0);
      case 4:
        return f_.advance(Milliseconds(pick(40'000)));
      case 5:
        return change_subscription();
      default:
        break;
    }
    if (members_.empty()) return;
    ModelMember& member = members_[pick(members_.size())];
    if (!member.is_running) return;
    if (pick(3) == 0) {
      carry_out(member);
    } else {
      heartbeat(member, true);
    }
  }

  // Owner: it believes to own the partition, and what it commits would be taken.
  void expect_no_two_owners() {
    if (f_.groups().find("g") == nullptr) return;
    std::map<TopicIdPartition, std::string> owners;
    for (const ModelMember& member : members_) {
      if (f_.commit(member.id, member.epoch) != ErrorCode::none) continue;
      for (const TopicIdPartition& partition : member.owned) {
        const auto [other, is_first] = owners.emplace(partition, member.id);
        EXPECT_TRUE(is_first) << partition.partition.value() << " is owned by " << other->second << " and by "
                              << member.id << "\n"
                              << f_.group().to_string();
      }
    }
  }

  // From now on nothing is lost: everybody who runs gets there.
  void expect_convergence() {
    std::erase_if(members_, [](const ModelMember& member) { return !member.is_running; });
    for (int round = 0; round < 24; ++round) {
      f_.advance(5s);
      for (ModelMember& member : members_) {
        if (!member.is_running) continue;
        heartbeat(member, false);
        carry_out(member);
        expect_no_two_owners();
      }
    }
    const size_t refused = std::erase_if(members_, [](const ModelMember& member) { return member.is_refused; });
    EXPECT_TRUE(refused == 0 || !members_.empty()) << "only who runs can be in the way";
    if (members_.empty()) return;
    EXPECT_EQ(f_.group().state(), "Stable") << f_.group().to_string();
    ASSERT_EQ(f_.group().size(), members_.size()) << "those that stopped are gone";
    for (const ModelMember& member : members_) {
      EXPECT_EQ(member.owned, f_.group().find(member.id)->target.value_or(PartitionSet{})) << member.id;
      EXPECT_EQ(f_.commit(member.id, member.epoch), ErrorCode::none);
    }
    expect_everything_owned();
  }

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }

  void start_member() {
    if (members_.size() >= 6) return;
    ModelMember member{.id = fmt::format("m{}", ++last_member_)};
    if (pick(2) == 0) member.instance_id = fmt::format("i{}", pick(3));
    choose_subscription(member);
    members_.push_back(std::move(member));
  }

  void choose_subscription(ModelMember& member) {
    member.topics.clear();
    for (const char* name : {"a1", "a2", "b1"}) {
      if (pick(2) == 0) member.topics.emplace_back(name);
    }
    member.expression = pick(3) == 0 ? "a.*" : "";
  }

  void change_subscription() {
    if (members_.empty()) return;
    ModelMember& member = members_[pick(members_.size())];
    choose_subscription(member);
    member.must_say_everything = true;
  }

  // Orderly, for a while, or by a crash. Who crashed is still there as a zombie that may commit.
  void stop_member() {
    if (members_.empty()) return;
    const size_t place = pick(members_.size());
    ModelMember& member = members_[place];
    if (!member.is_running) {
      if (pick(2) == 0) members_.erase(members_.begin() + static_cast<ptrdiff_t>(place));
      return;
    }
    member.is_running = false;
    if (pick(2) == 0) return;
    ConsumerHeartbeat request = f_.beat(member.id, member.instance_id && pick(2) == 0 ? -2 : -1);
    request.instance_id = member.instance_id;
    f_.heartbeat(request);
    members_.erase(members_.begin() + static_cast<ptrdiff_t>(place));
  }

  void change_topics() {
    const std::string name = std::vector<std::string>{"a1", "a2", "a3", "b1"}[pick(4)];
    if (pick(3) == 0) {
      if (f_.topics().contains(name)) f_.delete_topic(name);
    } else {
      const int32_t before = f_.topics().contains(name) ? f_.topics().at(name).partitions : 0;
      f_.set_topic(name, before + 1 + static_cast<int32_t>(pick(2)));
    }
  }

  ConsumerHeartbeat request_of(const ModelMember& member) {
    ConsumerHeartbeat request = f_.beat(member.id, member.epoch);
    request.instance_id = member.instance_id;
    if (member.epoch == kJoinEpoch || member.must_say_everything) {
      request.rebalance_timeout = 30s;
      request.subscribed_topics = member.topics;
      request.subscribed_expression = member.expression;
      request.owned = member.owned;
    } else if (!member.assigned.has_value() || pick(2) == 0) {
      request.owned = member.owned;
    }
    return request;
  }

  void heartbeat(ModelMember& member, bool may_lose) {
    const ConsumerHeartbeat request = request_of(member);
    if (may_lose && pick(10) == 0) return;
    const ConsumerHeartbeatAnswer answer = f_.heartbeat(request);
    if (may_lose && pick(10) == 0) {
      member.must_say_everything = true;
      return;
    }
    member.is_refused = answer.error == ErrorCode::unreleased_instance_id;
    switch (answer.error) {
      case ErrorCode::none:
        member.must_say_everything = false;
        member.epoch = answer.member_epoch;
        if (answer.assignment.has_value()) member.assigned = answer.assignment;
        break;
      case ErrorCode::unreleased_instance_id:
        break;  // it tries again
      case ErrorCode::fenced_instance_id:
        member.is_running = false;  // somebody else runs in its name
        member.is_refused = true;
        member.owned.clear();
        break;
      case ErrorCode::fenced_member_epoch:
      case ErrorCode::unknown_member_id:
      case ErrorCode::group_id_not_found:
        member.epoch = kJoinEpoch;
        member.owned.clear();
        member.assigned.reset();
        break;
      default:
        ADD_FAILURE() << answer.message;
    }
  }

  // First gives back, then takes: as clients do, not at once.
  static void carry_out(ModelMember& member) {
    if (!member.assigned.has_value()) return;
    member.owned = *member.assigned;
    member.assigned.reset();
  }

  void expect_everything_owned() {
    PartitionSet owned;
    for (const ModelMember& member : members_) owned = set_of_either(owned, member.owned);
    PartitionSet subscribed;
    for (const std::string_view name : f_.group().subscribed_topics()) {
      if (f_.topics().contains(std::string(name))) {
        subscribed = set_of_either(subscribed, f_.all_of(std::string(name)));
      }
    }
    EXPECT_EQ(owned, subscribed);
  }

  std::mt19937_64 random_;
  ConsumerGroupsFixture f_;
  std::vector<ModelMember> members_;
  int last_member_ = 0;
};

TEST(ConsumerGroupModel, NeverHasTwoOwnersOfAPartitionAndAlwaysComesToRest) {
  for (uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ConsumerGroupModel model(seed);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); ++i) {
      model.step();
      model.expect_no_two_owners();
    }
    if (!testing::Test::HasFailure()) model.expect_convergence();
  }
}

}  // namespace
}  // namespace naru
