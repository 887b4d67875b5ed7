// For tests: a coordinator with a log, a clock that is moved by hand, and members that remember what they were told.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "consumer_groups/group_coordinator.h"
#include "coordinator_runtime/awaited_testing.h"

namespace naru {

inline Bytes test_bytes(std::string_view text) {
  const BytesView view = as_bytes(text);
  return {view.begin(), view.end()};
}

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

// What a log consists of: records, records inside of transactions, and markers.
struct LoggedRecord {
  LoggedRecord(CoordinatorRecord plain) : record(std::move(plain)) {}  // NOLINT: a record is one of them
  LoggedRecord(CoordinatorRecord pending, const ProducerIdentity& of) : record(std::move(pending)), producer(of) {}
  LoggedRecord(const ProducerIdentity& of, const TransactionMarker& end) : producer(of), marker(end) {}

  CoordinatorRecord record;  // not of a marker
  std::optional<ProducerIdentity> producer;
  std::optional<TransactionMarker> marker;
};
using TestLog = std::vector<LoggedRecord>;

inline TestLog written_by(const CoordinatorOutcome& outcome) {
  EXPECT_FALSE(outcome.transaction && outcome.marker);
  TestLog written;
  for (const CoordinatorRecord& record : outcome.records) {
    if (outcome.transaction) {
      written.emplace_back(record, *outcome.transaction);
    } else {
      written.emplace_back(record);
    }
  }
  if (outcome.marker) written.emplace_back(outcome.marker->producer, outcome.marker->marker);
  return written;
}

// As the log compacts itself: nothing from the first record on whose transaction has not ended; what was aborted goes;
// and markers go with what they have ended.
inline TestLog compacted(const TestLog& log, bool drop_tombstones) {
  size_t stable_end = log.size();
  std::vector<std::optional<TransactionResult>> ends(log.size());  // of the record's transaction
  std::map<ProducerId, std::vector<size_t>> open;
  for (size_t i = 0; i < log.size(); ++i) {
    if (!log[i].producer) continue;
    std::vector<size_t>& records = open[log[i].producer->id];
    if (log[i].marker) {
      for (const size_t each : records) ends[each] = log[i].marker->result;
      records.clear();
    } else {
      records.push_back(i);
    }
  }
  for (const auto& [producer, records] : open) {
    if (!records.empty()) stable_end = std::min(stable_end, records.front());
  }
  std::map<Bytes, size_t> last;
  for (size_t i = 0; i < stable_end; ++i) {
    if (!log[i].marker && ends[i] != TransactionResult::abort) last[log[i].record.key] = i;
  }
  TestLog kept;
  std::set<ProducerId> has_kept;  // records that a marker has to end
  for (size_t i = 0; i < log.size(); ++i) {
    const LoggedRecord& each = log[i];
    const bool is_stable = i < stable_end;
    if (each.marker) {
      if (has_kept.erase(each.producer->id) > 0 || !is_stable) kept.push_back(each);
      continue;
    }
    if (is_stable && (ends[i] == TransactionResult::abort || last[each.record.key] != i)) continue;
    if (is_stable && !each.record.value && drop_tombstones) continue;
    if (each.producer) has_kept.insert(each.producer->id);
    kept.push_back(each);
  }
  return kept;
}

inline Status apply_to(GroupCoordinator& coordinator, const LoggedRecord& logged) {
  if (logged.marker) return coordinator.apply_marker(*logged.producer, *logged.marker);
  const CoordinatorRecord& record = logged.record;
  const auto value = record.value ? std::optional<BytesView>(*record.value) : std::nullopt;
  return logged.producer ? coordinator.apply_pending(*logged.producer, record.key, value)
                         : coordinator.apply(record.key, value);
}

// Every step ends with a check that the log says what the coordinator thinks.
class TestCoordinator {
 public:
  explicit TestCoordinator(GroupSettings settings = {}, MemoryBudget* memory = nullptr)
      : settings(settings), memory(memory) {
    restart();
  }
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
  CommitVerification begin_verification(const ProducerIdentity& producer) {
    return ask<CommitVerification>([&](auto reply, auto& outcome) {
             coordinator->begin_verification(producer, std::move(reply), time, outcome);
           })
        .value();
  }
  std::vector<ErrorCode> commit_in_transaction(TransactionalCommit request) {
    return ask<CommitAnswer>([&](auto reply, auto& outcome) {
             coordinator->commit_in_transaction(std::move(request), std::move(reply), time, outcome);
           })
        .value()
        .entries;
  }
  // One offset; the transaction's coordinator knows of it.
  ErrorCode commit_in_transaction(std::string group, const ProducerIdentity& producer, GroupPartition partition,
                                  int64_t offset, MemberClaim claim = {}) {
    const CommitVerification begun = begin_verification(producer);
    if (begun.error != ErrorCode::none) return begun.error;
    return commit_in_transaction(
        {.offsets = {.group_id = std::move(group),
                     .member = std::move(claim),
                     .entries = {{.partition = std::move(partition), .offset = Offset(offset)}}},
         .producer = producer,
         .guard = begun.guard})[0];
  }
  ErrorCode write_marker(const WriteMarker& request) {
    return ask<ErrorCode>(
               [&](auto reply, auto& outcome) { coordinator->write_marker(request, std::move(reply), time, outcome); })
        .value();
  }
  std::vector<PendingTransaction> describe_pending(const std::string& group) {
    return ask<std::vector<PendingTransaction>>([&](auto reply, auto& outcome) {
             coordinator->describe_pending(group, std::move(reply), time, outcome);
           })
        .value();
  }
  DeleteOffsetsAnswer delete_offsets(std::string group, std::vector<GroupPartition> partitions) {
    return ask<DeleteOffsetsAnswer>([&](auto reply, auto& outcome) {
             coordinator->delete_offsets({std::move(group), std::move(partitions)}, std::move(reply), time, outcome);
           })
        .value();
  }
  std::vector<ListedGroup> list(ListGroups page = {}) {
    return ask<std::vector<ListedGroup>>(
               [&](auto reply, auto& outcome) { coordinator->list_groups(page, std::move(reply), time, outcome); })
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
    TopicRemoval removal(topics);
    for (bool more = true; more;) {
      CoordinatorOutcome outcome;
      more = coordinator->topics_deleted(removal, time, outcome);
      finish(std::move(outcome));
    }
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
    coordinator = std::make_unique<GroupCoordinator>(settings, memory);
    apply_all(*coordinator, compacted(log, drop_tombstones));
    coordinator->loaded(time);
    follower_ = std::make_unique<GroupCoordinator>(settings);
    newest_.clear();
    follow(log);
  }

  GroupSettings settings;
  MemoryBudget* const memory;
  TestLog log;
  CoordinatorTime time{MonotonicTime{} + 1000h, 1'700'000'000'000};
  std::unique_ptr<GroupCoordinator> coordinator;

 private:
  void move_clock(MonotonicTime to) {
    time.wall_ms += std::chrono::duration_cast<Milliseconds>(to - time.now).count();
    time.now = to;
  }
  void finish(CoordinatorOutcome outcome) {
    const TestLog written = written_by(outcome);
    log.insert(log.end(), written.begin(), written.end());
    follow(written);
    expect_same(*follower_, "all records");
    GroupCoordinator compacted_log(settings);
    GroupCoordinator without_tombstones(settings);
    if (has_transactions_) {
      apply_all(compacted_log, compacted(log, false));
      apply_all(without_tombstones, compacted(log, true));
    } else {
      for (const auto& [key, record] : newest_) {
        apply_all(compacted_log, {record});
        if (record.record.value) apply_all(without_tombstones, {record});
      }
    }
    expect_same(compacted_log, "the newest record of each key");
    expect_same(without_tombstones, "the newest records without tombstones");
    for (auto& reply : outcome.replies) reply(Status());
  }
  void follow(const TestLog& records) {
    apply_all(*follower_, records);
    for (const LoggedRecord& record : records) {
      if (record.producer) has_transactions_ = true;
      newest_.insert_or_assign(record.record.key, record);
    }
  }
  static void apply_all(GroupCoordinator& coordinator, const TestLog& records) {
    for (const LoggedRecord& record : records) {
      const Status applied = apply_to(coordinator, record);
      EXPECT_TRUE(applied.ok()) << applied.to_string();
    }
  }
  void expect_same(const GroupCoordinator& replayed, const char* what) {
    EXPECT_TRUE(replayed.durable_state() == coordinator->durable_state())
        << what << ":\n"
        << replayed.durable_state().to_string() << "live:\n"
        << coordinator->durable_state().to_string();
    EXPECT_TRUE(replayed.durable_consumer_groups() == coordinator->durable_consumer_groups());
  }

  std::unique_ptr<GroupCoordinator> follower_;  // has applied every record, and nothing else has happened to it
  std::map<Bytes, LoggedRecord> newest_;        // by key; for as long as there are no transactions
  bool has_transactions_ = false;
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
