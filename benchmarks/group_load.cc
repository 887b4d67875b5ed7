#include <sys/epoll.h>
#include <sys/resource.h>

#include <deque>
#include <memory>
#include <string>

#include "benchmarks/exchange.h"
#include "benchmarks/load.h"
#include "benchmarks/measurement.h"
#include "kafka_protocol/messages/heartbeat_request.h"
#include "kafka_protocol/messages/heartbeat_response.h"
#include "kafka_protocol/messages/join_group_request.h"
#include "kafka_protocol/messages/join_group_response.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"
#include "kafka_protocol/messages/sync_group_request.h"
#include "kafka_protocol/messages/sync_group_response.h"

namespace naru::bench {
namespace {

constexpr int16_t kJoinVersion = 7, kSyncVersion = 5, kHeartbeatVersion = 4, kCommitVersion = 8;
constexpr std::string_view kProtocol = "bench";

// One member on a connection of its own. It has one request in flight, or waits for its next heartbeat.
class Member {
 public:
  Member(uint16_t port, std::string group) : socket_(connect_to(port)), group_(std::move(group)) {}
  ~Member() { ::close(socket_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  int socket() const { return socket_; }
  bool stable() const { return waits_for_ == WaitsFor::timer || waits_for_ == WaitsFor::heartbeat; }
  int32_t generation() const { return generation_; }
  uint64_t heartbeats() const { return heartbeats_; }

  void join() {
    kafka::JoinGroupRequest request;
    request.group_id = group_;
    request.session_timeout_ms = 45'000;
    request.rebalance_timeout_ms = 60'000;
    request.member_id = id_;
    request.protocol_type = kProtocol;
    request.protocols.push_back({.name = kProtocol, .metadata = as_bytes(kProtocol)});
    send_request(socket_, request, kJoinVersion);
    waits_for_ = WaitsFor::join;
  }
  void send_heartbeat() {
    kafka::HeartbeatRequest request;
    request.group_id = group_;
    request.generation_id = generation_;
    request.member_id = id_;
    send_request(socket_, request, kHeartbeatVersion);
    waits_for_ = WaitsFor::heartbeat;
  }

  // Takes one answer. True: the next heartbeat is due after an interval.
  bool on_answer() {
    switch (waits_for_) {
      case WaitsFor::join:
        on_joined(read_response<kafka::JoinGroupResponse>(socket_, kJoinVersion));
        return false;
      case WaitsFor::sync: {
        const auto synced = read_response<kafka::SyncGroupResponse>(socket_, kSyncVersion);
        if (synced.error_code != ErrorCode::none) {
          join();
          return false;
        }
        waits_for_ = WaitsFor::timer;
        return true;
      }
      case WaitsFor::heartbeat: {
        ++heartbeats_;
        const auto beaten = read_response<kafka::HeartbeatResponse>(socket_, kHeartbeatVersion);
        if (beaten.error_code != ErrorCode::none) {
          join();
          return false;
        }
        waits_for_ = WaitsFor::timer;
        return true;
      }
      case WaitsFor::timer:
        die("an answer that nobody waits for");
    }
    return false;
  }

 private:
  enum class WaitsFor : uint8_t { join, sync, heartbeat, timer };

  void on_joined(const kafka::JoinGroupResponse& joined) {
    id_ = joined.member_id;
    if (joined.error_code != ErrorCode::none) return join();
    generation_ = joined.generation_id;
    kafka::SyncGroupRequest request;
    request.group_id = group_;
    request.generation_id = generation_;
    request.member_id = id_;
    request.protocol_type = kProtocol;
    request.protocol_name = kProtocol;
    for (const auto& member : joined.members) {
      request.assignments.push_back({.member_id = member.member_id, .assignment = as_bytes(kProtocol)});
    }
    send_request(socket_, request, kSyncVersion);
    waits_for_ = WaitsFor::sync;
  }

  const int socket_;
  const std::string group_;
  WaitsFor waits_for_ = WaitsFor::join;
  std::string id_;
  int32_t generation_ = -1;
  uint64_t heartbeats_ = 0;
};

// All members on one loop.
class Members {
 public:
  explicit Members(const GroupLoad& load) : load_(load), poll_(::epoll_create1(0)) {}

  void add(const std::string& group) {
    auto& member = members_.emplace_back(std::make_unique<Member>(load_.port, group));
    epoll_event event{.events = EPOLLIN, .data = {.ptr = member.get()}};
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, member->socket(), &event) != 0) die("epoll_ctl");
    member->join();
  }
  bool all_stable() const {
    return std::ranges::all_of(members_, [](const auto& member) { return member->stable(); });
  }
  bool all_in(int32_t generation) const {
    return std::ranges::all_of(
        members_, [=](const auto& member) { return member->stable() && member->generation() >= generation; });
  }
  int32_t newest_generation() const {
    int32_t newest = 0;
    for (const auto& member : members_) newest = std::max(newest, member->generation());
    return newest;
  }
  uint64_t heartbeats() const {
    uint64_t sum = 0;
    for (const auto& member : members_) sum += member->heartbeats();
    return sum;
  }

  // Until `done`, or the time is over; false then.
  template <class Done>
  bool run(int64_t until_ns, Done done) {
    while (!done()) {
      if (now_ns() > until_ns) return false;
      send_due_heartbeats();
      epoll_event events[256];
      const int ready = ::epoll_wait(poll_, events, std::size(events), 1);
      for (int i = 0; i < ready; ++i) {
        auto* member = static_cast<Member*>(events[i].data.ptr);
        if (member->on_answer()) due_.emplace_back(now_ns() + int64_t{load_.heartbeat_ms} * 1'000'000, member);
      }
    }
    return true;
  }

 private:
  void send_due_heartbeats() {
    const int64_t now = now_ns();
    for (; !due_.empty() && due_.front().first <= now; due_.pop_front()) due_.front().second->send_heartbeat();
  }

  const GroupLoad& load_;
  const int poll_;
  std::vector<std::unique_ptr<Member>> members_;
  std::deque<std::pair<int64_t, Member*>> due_;  // all have the same interval, so they are due in this order
};

void allow_many_sockets() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kPatience = 120 * kSecond;

}  // namespace

void run_groups(const GroupLoad& load) {
  allow_many_sockets();
  find_coordinator(load.port, "bench-0", CoordinatorOf::group);
  Members members(load);
  const int64_t begun = now_ns();
  for (int group = 0; group < load.groups; ++group) {
    for (int i = 0; i < load.members; ++i) members.add("bench-" + std::to_string(group));
  }
  if (!members.run(begun + kPatience, [&] { return members.all_stable(); })) die("the groups do not become stable");
  std::fprintf(stderr, "stable\n");  // the CPU of the broker is measured from here on
  std::fflush(stderr);
  const int64_t stable = now_ns();
  const int32_t generation = members.newest_generation();
  const uint64_t before = members.heartbeats();
  members.run(stable + load.seconds * kSecond, [] { return false; });
  std::printf("{\"join_ms\": %.0f, \"heartbeats\": %llu, \"rebalances\": %d}\n",
              static_cast<double>(stable - begun) / 1e6, static_cast<unsigned long long>(members.heartbeats() - before),
              members.newest_generation() - generation);
}

void run_rebalance(const GroupLoad& load) {
  allow_many_sockets();
  find_coordinator(load.port, "bench", CoordinatorOf::group);
  Members members(load);
  for (int i = 0; i < load.members; ++i) members.add("bench");
  if (!members.run(now_ns() + kPatience, [&] { return members.all_stable(); })) die("the group does not become stable");
  std::vector<int64_t> times;
  for (int round = 0; round < load.rounds; ++round) {
    const int32_t next = members.newest_generation() + 1;
    const int64_t begun = now_ns();
    members.add("bench");
    if (!members.run(begun + kPatience, [&] { return members.all_in(next); })) die("the rebalance does not end");
    times.push_back(now_ns() - begun);
  }
  print_percentiles(times);
}

void run_commits(const CommitLoad& load) {
  find_coordinator(load.port, "commits-0", CoordinatorOf::group);
  const int poll = ::epoll_create1(0);
  struct Committer {
    int socket;
    Bytes frame;
    int64_t sent_at;
  };
  std::vector<Committer> committers;
  for (int i = 0; i < load.connections; ++i) {
    const std::string group = "commits-" + std::to_string(i);
    kafka::OffsetCommitRequest request;
    request.group_id = group;
    request.topics.push_back({.name = load.topic});
    request.topics.back().partitions.push_back(
        {.partition_index = PartitionIndex(0), .committed_offset = Offset(i), .committed_metadata = ""});
    committers.push_back(
        {connect_to(load.port), kafka::encode_request_frame(request, kCommitVersion, 0, "bench").bytes, 0});
  }
  const int64_t begun = now_ns();
  const auto send_commit = [](Committer& committer) {
    committer.sent_at = now_ns();
    write_all(committer.socket, committer.frame.data(), committer.frame.size());
  };
  for (Committer& committer : committers) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &committer}};
    if (::epoll_ctl(poll, EPOLL_CTL_ADD, committer.socket, &event) != 0) die("epoll_ctl");
    send_commit(committer);
  }
  std::vector<int64_t> times;
  for (int sent = load.connections; static_cast<int>(times.size()) < load.count;) {
    epoll_event events[256];
    const int ready = ::epoll_wait(poll, events, std::size(events), 1000);
    for (int i = 0; i < ready; ++i) {
      auto& committer = *static_cast<Committer*>(events[i].data.ptr);
      const auto answer = read_response<kafka::OffsetCommitResponse>(committer.socket, kCommitVersion);
      if (answer.topics.at(0).partitions.at(0).error_code != ErrorCode::none) die("a commit was refused");
      times.push_back(now_ns() - committer.sent_at);
      if (sent < load.count) {
        ++sent;
        send_commit(committer);
      }
    }
  }
  const double seconds = static_cast<double>(now_ns() - begun) / 1e9;
  std::ranges::sort(times);
  const auto at = [&times](double share) {
    return static_cast<double>(times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]) / 1000;
  };
  std::printf("{\"per_second\": %.0f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", load.count / seconds, at(0.5), at(0.99));
}

}  // namespace naru::bench
