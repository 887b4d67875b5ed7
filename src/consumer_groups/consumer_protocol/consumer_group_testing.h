// What tests of consumer groups share: groups that are compared with a replay of their records after every operation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "consumer_groups/consumer_protocol/consumer_groups.h"
#include "consumer_groups/group_testing.h"

namespace naru {

inline std::string text_of(const std::map<std::string, ConsumerGroup>& state) {
  std::string text;
  for (const auto& [group_id, group] : state) text += group_id + ": " + group.to_string();
  return text;
}

inline std::unique_ptr<ConsumerGroups> replayed(const std::vector<CoordinatorRecord>& log,
                                                const ConsumerGroupSettings& settings) {
  auto groups = std::make_unique<ConsumerGroups>(settings);
  for (const CoordinatorRecord& record : log) EXPECT_TRUE(groups->apply(record.key, record.value).ok());
  return groups;
}

class ConsumerGroupsFixture {
 public:
  explicit ConsumerGroupsFixture(ConsumerGroupSettings settings = {})
      : settings_(std::move(settings)), groups_(std::make_unique<ConsumerGroups>(settings_)) {}

  ConsumerGroups& groups() { return *groups_; }
  const ConsumerGroup& group(std::string_view group_id = "g") { return *groups_->find(group_id); }
  const ConsumerMemberAssignment& current(std::string_view member_id) { return *group().find(member_id)->current; }
  const std::vector<CoordinatorRecord>& log() const { return log_; }
  void set_settings(ConsumerGroupSettings settings) {
    settings_ = std::move(settings);
    groups_->set_settings(settings_);
  }

  // Topics keep their ids while they exist; the number of partitions may be changed.
  void set_topic(const std::string& name, int32_t partitions) {
    topics_[name] = {name, Uuid{1, topics_.contains(name) ? topics_[name].id.low : ++last_topic_}, partitions};
    tell_topics();
  }
  void set_internal_topic(const std::string& name) {
    topics_[name] = {name, Uuid{1, ++last_topic_}, 1, true};
    tell_topics();
  }
  void delete_topic(const std::string& name) {
    topics_.erase(name);
    tell_topics();
  }
  const std::map<std::string, SubscribableTopic>& topics() const { return topics_; }
  TopicIdPartition at(const std::string& topic, int32_t partition) {
    return {topics_.at(topic).id, PartitionIndex(partition)};
  }
  PartitionSet all_of(const std::string& topic) {
    PartitionSet result;
    for (int32_t i = 0; i < topics_.at(topic).partitions; ++i) result.push_back(at(topic, i));
    return result;
  }

  ConsumerHeartbeat joining(std::string member_id, std::vector<std::string> topics) {
    ConsumerHeartbeat request{.group_id = "g", .member_id = std::move(member_id)};
    request.rebalance_timeout = 60s;
    request.subscribed_topics = std::move(topics);
    request.owned.emplace();
    return request;
  }
  ConsumerHeartbeat beat(std::string member_id, int32_t epoch, std::optional<PartitionSet> owned = std::nullopt) {
    return {.group_id = "g", .member_id = std::move(member_id), .member_epoch = epoch, .owned = std::move(owned)};
  }

  ConsumerHeartbeatAnswer heartbeat(const ConsumerHeartbeat& request) {
    CoordinatorOutcome outcome;
    auto answer = groups_->heartbeat(request, time_, outcome);
    take(outcome);
    return answer;
  }
  ConsumerHeartbeatAnswer join(std::string member_id, std::vector<std::string> topics) {
    return heartbeat(joining(std::move(member_id), std::move(topics)));
  }
  ErrorCode commit(std::string member_id, int32_t epoch, bool knows_member_epochs = true) {
    CommitOffsets request{.group_id = "g", .member = {.member_id = std::move(member_id), .generation = epoch}};
    request.knows_member_epochs = knows_member_epochs;
    return groups_->check_commit(request);
  }
  void advance(Duration by) {
    time_.now += by;
    time_.wall_ms += std::chrono::duration_cast<Milliseconds>(by).count();
    CoordinatorOutcome outcome;
    groups_->on_timer(time_, outcome);
    take(outcome);
  }
  // As if the broker had crashed, and another read what was committed.
  void reload(bool compact) {
    groups_ = replayed(compact ? compacted(log_, true) : log_, settings_);
    groups_->loaded(time_);
    tell_topics();
  }
  size_t records() const { return log_.size(); }
  WallTimeMs wall_ms() const { return time_.wall_ms; }

 private:
  void tell_topics() {
    std::vector<SubscribableTopic> topics;
    for (const auto& [name, topic] : topics_) topics.push_back(topic);
    TopicsSweep sweep{.topics = std::make_shared<const SubscribableTopics>(++generation_, std::move(topics))};
    for (bool more = true; more;) {
      CoordinatorOutcome outcome;
      more = groups_->metadata_changed(sweep, 1, time_, outcome);
      take(outcome);
    }
  }

  void take(CoordinatorOutcome& outcome) {
    const bool changed = !outcome.records.empty();
    std::ranges::move(outcome.records, std::back_inserter(log_));
    if (!changed) return;
    const auto live = groups_->durable_state();
    for (const auto& log : {log_, compacted(log_, false), compacted(log_, true)}) {
      const auto again = replayed(log, settings_)->durable_state();
      ASSERT_EQ(live == again, true) << "live:\n" << text_of(live) << "replayed:\n" << text_of(again);
    }
    if (log_.size() > 2000) log_ = compacted(log_, true);  // or replaying would take ever longer
  }

  ConsumerGroupSettings settings_;
  std::unique_ptr<ConsumerGroups> groups_;
  std::vector<CoordinatorRecord> log_;
  std::map<std::string, SubscribableTopic> topics_;
  uint64_t last_topic_ = 0;
  int64_t generation_ = 0;
  CoordinatorTime time_{MonotonicTime{} + 1h, 1'000'000};
};

}  // namespace naru
