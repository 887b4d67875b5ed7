// For tests: a coordinator with a log, a clock that is moved by hand, and members that remember what they were told.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "consumer_groups/group_coordinator.h"

namespace naru {

inline Bytes test_bytes(std::string_view text) {
  const BytesView view = as_bytes(text);
  return {view.begin(), view.end()};
}

// An answer that may not be there yet.
template <class Answer>
class Awaited {
 public:
  bool arrived() const { return answer_->has_value(); }
  const Answer& value() const {
    EXPECT_TRUE(arrived()) << "still parked";
    if (arrived()) EXPECT_TRUE((*answer_)->has_value()) << (*answer_)->error().to_string();
    static const Answer kNone{};
    return arrived() && (*answer_)->has_value() ? ***answer_ : kNone;
  }
  Status failure_status() const { return arrived() && !(*answer_)->has_value() ? (*answer_)->error() : Status(); }

  Reply<Answer> reply() {
    return [answer = answer_](Result<Answer> result) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      answer->emplace(std::move(result));
    };
  }

 private:
  std::shared_ptr<std::optional<Result<Answer>>> answer_ = std::make_shared<std::optional<Result<Answer>>>();
};

// A log in which a later record of a key replaces the earlier ones.
inline std::vector<CoordinatorRecord> compacted(const std::vector<CoordinatorRecord>& log, bool drop_tombstones) {
  std::map<Bytes, size_t> last;
  for (size_t i = 0; i < log.size(); ++i) last[log[i].key] = i;
  std::vector<CoordinatorRecord> kept;
  for (size_t i = 0; i < log.size(); ++i) {
    if (last[log[i].key] == i && (log[i].value || !drop_tombstones)) kept.push_back(log[i]);
  }
  return kept;
}

inline Status apply_all(GroupCoordinator& coordinator, const std::vector<CoordinatorRecord>& log) {
  for (const CoordinatorRecord& record : log) {
    const auto value = record.value ? std::optional<BytesView>(*record.value) : std::nullopt;
    NARU_TRY(coordinator.apply(record.key, value));
  }
  return {};
}

// Every step ends with a check that the log says what the coordinator thinks.
class TestCoordinator {
 public:
  explicit TestCoordinator(GroupSettings settings = {}) : settings(settings) { restart(); }
  ~TestCoordinator() { coordinator->unload(Status(ErrorCode::not_coordinator)); }

  template <class Answer, class Operation>
  Awaited<Answer> ask(Operation operation) {
    Awaited<Answer> awaited;
    CoordinatorOutcome outcome;
    operation(awaited.reply(), outcome);
    finish(std::move(outcome));
    return awaited;
  }
  Awaited<JoinAnswer> join(JoinGroup request) {
    return ask<JoinAnswer>(
        [&](auto reply, auto& outcome) { coordinator->join(std::move(request), std::move(reply), time, outcome); });
  }
  Awaited<SyncAnswer> sync(SyncGroup request) {
    return ask<SyncAnswer>(
        [&](auto reply, auto& outcome) { coordinator->sync(std::move(request), std::move(reply), time, outcome); });
  }
  ErrorCode heartbeat(std::string group, MemberClaim claim) {
    return ask<ErrorCode>([&](auto reply, auto& outcome) {
             coordinator->heartbeat({std::move(group), std::move(claim)}, std::move(reply), time, outcome);
           })
        .value();
  }
  std::vector<ErrorCode> leave(std::string group, std::vector<LeaveGroup::Member> members) {
    return ask<LeaveAnswer>([&](auto reply, auto& outcome) {
             coordinator->leave({std::move(group), std::move(members)}, std::move(reply), time, outcome);
           })
        .value()
        .members;
  }
  std::vector<ErrorCode> commit(CommitOffsets request) {
    return ask<CommitAnswer>([&](auto reply, auto& outcome) {
             coordinator->commit_offsets(std::move(request), std::move(reply), time, outcome);
           })
        .value()
        .entries;
  }
  // One offset, without metadata.
  ErrorCode commit(std::string group, MemberClaim claim, GroupPartition partition, int64_t offset) {
    const auto codes = commit({.group_id = std::move(group),
                               .member = std::move(claim),
                               .entries = {{.partition = std::move(partition), .offset = Offset(offset)}}});
    return codes.empty() ? ErrorCode::unknown_server_error : codes[0];
  }
  FetchOffsetsAnswer fetch(FetchOffsets request) {
    return ask<FetchOffsetsAnswer>([&](auto reply, auto& outcome) {
             coordinator->fetch_offsets(std::move(request), std::move(reply), time, outcome);
           })
        .value();
  }
  // -1 if there is none.
  int64_t committed(const std::string& group, GroupPartition partition) {
    const auto answer = fetch({.group_id = group, .partitions = {{std::move(partition)}}});
    const bool found = answer.offsets.size() == 1 && answer.offsets[0].committed;
    return found ? answer.offsets[0].committed->offset.value() : -1;
  }
  DeleteOffsetsAnswer delete_offsets(std::string group, std::vector<GroupPartition> partitions) {
    return ask<DeleteOffsetsAnswer>([&](auto reply, auto& outcome) {
             coordinator->delete_offsets({std::move(group), std::move(partitions)}, std::move(reply), time, outcome);
           })
        .value();
  }
  std::vector<ListedGroup> list() {
    return ask<std::vector<ListedGroup>>(
               [&](auto reply, auto& outcome) { coordinator->list_groups(std::move(reply), time, outcome); })
        .value();
  }
  DescribedGroup describe(std::string group) {
    return ask<DescribedGroup>([&](auto reply, auto& outcome) {
             coordinator->describe_group(std::move(group), std::move(reply), time, outcome);
           })
        .value();
  }
  ErrorCode delete_group(std::string group) {
    return ask<ErrorCode>([&](auto reply, auto& outcome) {
             coordinator->delete_group(std::move(group), std::move(reply), time, outcome);
           })
        .value();
  }
  void topics_deleted(const std::vector<FormerTopic>& topics) {
    CoordinatorOutcome outcome;
    coordinator->topics_deleted(topics, time, outcome);
    finish(std::move(outcome));
  }
  void expire_offsets(const UnreadRecords& unread) {
    CoordinatorOutcome outcome;
    coordinator->expire_offsets(unread, time, outcome);
    finish(std::move(outcome));
  }

  // Stops at every deadline on the way.
  void advance(Duration by) {
    const MonotonicTime end = time.now + by;
    for (auto next = coordinator->next_deadline(); next && *next <= end; next = coordinator->next_deadline()) {
      move_clock(std::max(*next, time.now));
      CoordinatorOutcome outcome;
      coordinator->on_timer(time, outcome);
      finish(std::move(outcome));
    }
    move_clock(end);
  }

  // What a crash and a new coordinator do; the log has been compacted in between.
  void restart(bool drop_tombstones = false) {
    if (coordinator) coordinator->unload(Status(ErrorCode::not_coordinator));
    coordinator = std::make_unique<GroupCoordinator>(settings);
    apply_to(*coordinator, compacted(log, drop_tombstones));
    coordinator->loaded(time);
    follower_ = std::make_unique<GroupCoordinator>(settings);
    newest_.clear();
    follow(log);
  }

  GroupSettings settings;
  std::vector<CoordinatorRecord> log;
  CoordinatorTime time{MonotonicTime{} + 1000h, 1'700'000'000'000};
  std::unique_ptr<GroupCoordinator> coordinator;

 private:
  void move_clock(MonotonicTime to) {
    time.wall_ms += std::chrono::duration_cast<Milliseconds>(to - time.now).count();
    time.now = to;
  }
  void finish(CoordinatorOutcome outcome) {
    follow(outcome.records);
    for (CoordinatorRecord& record : outcome.records) log.push_back(std::move(record));
    expect_same(*follower_, "all records");
    GroupCoordinator compacted_log(settings);
    GroupCoordinator without_tombstones(settings);
    for (const auto& [key, record] : newest_) {
      apply_to(compacted_log, {record});
      if (record.value) apply_to(without_tombstones, {record});
    }
    expect_same(compacted_log, "the newest record of each key");
    expect_same(without_tombstones, "the newest records without tombstones");
    for (auto& reply : outcome.replies) reply(Status());
  }
  void follow(const std::vector<CoordinatorRecord>& records) {
    apply_to(*follower_, records);
    for (const CoordinatorRecord& record : records) newest_[record.key] = record;
  }
  static void apply_to(GroupCoordinator& coordinator, const std::vector<CoordinatorRecord>& records) {
    const Status applied = apply_all(coordinator, records);
    EXPECT_TRUE(applied.ok()) << applied.to_string();
  }
  void expect_same(const GroupCoordinator& replayed, const char* what) {
    EXPECT_TRUE(replayed.durable_state() == coordinator->durable_state())
        << what << ":\n"
        << replayed.durable_state().to_string() << "live:\n"
        << coordinator->durable_state().to_string();
    EXPECT_TRUE(replayed.durable_consumer_groups() == coordinator->durable_consumer_groups());
  }

  std::unique_ptr<GroupCoordinator> follower_;  // has applied every record, and nothing else has happened to it
  std::map<Bytes, CoordinatorRecord> newest_;   // by key
};

// Requests of a consumer that is called "client" and reads with the protocol "range".
inline JoinGroup joining(std::string group, std::string fresh_member_id) {
  return {.group_id = std::move(group),
          .client_id = "client",
          .client_host = "/127.0.0.1",
          .session_timeout = 10s,
          .rebalance_timeout = 60s,
          .protocol_type = "consumer",
          .protocols = {{"range", test_bytes("metadata of " + fresh_member_id)}},
          .fresh_member_id = std::move(fresh_member_id)};
}
inline JoinGroup rejoining(std::string group, const std::string& member_id) {
  JoinGroup request = joining(std::move(group), member_id);
  request.member_id = member_id;
  request.fresh_member_id = "fresh id of " + member_id;
  return request;
}
inline JoinGroup joining_as(std::string group, std::string fresh_member_id, std::string instance_id) {
  JoinGroup request = joining(std::move(group), std::move(fresh_member_id));
  request.instance_id = std::move(instance_id);
  return request;
}
inline SyncGroup syncing(std::string group, std::string member_id, int32_t generation,
                         std::vector<std::string> assigned = {}) {
  SyncGroup request{.group_id = std::move(group),
                    .member = {.member_id = std::move(member_id), .generation = generation}};
  for (const std::string& id : assigned) request.assignments.emplace_back(id, test_bytes("assignment of " + id));
  return request;
}

// The members join, the first one leads, and all get assignments. Returns the generation.
inline int32_t form_group(TestCoordinator& test, const std::string& group, const std::vector<JoinGroup>& members) {
  std::vector<Awaited<JoinAnswer>> joins;
  std::vector<std::string> ids;
  for (const JoinGroup& member : members) {
    joins.push_back(test.join(member));
    ids.push_back(member.fresh_member_id);
  }
  test.advance(test.settings.initial_rebalance_delay * 2);
  const int32_t generation = joins[0].value().generation;
  std::vector<Awaited<SyncAnswer>> syncs;
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(joins[i].value().error, ErrorCode::none);
    EXPECT_EQ(joins[i].value().leader, ids[0]);
    SyncGroup request = syncing(group, ids[i], generation, i == 0 ? ids : std::vector<std::string>());
    request.member.instance_id = members[i].instance_id;
    syncs.push_back(test.sync(std::move(request)));
  }
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(syncs[i].value().assignment, test_bytes("assignment of " + ids[i]));
  EXPECT_EQ(test.describe(group).state, "Stable");
  return generation;
}

}  // namespace naru
