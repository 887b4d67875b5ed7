// `naru group ...` as a person types it, with members that speak the protocol by hand.
#include <gtest/gtest.h>

#include "client/broker_connection.h"
#include "command_line/commands_testing.h"
#include "kafka_protocol/messages/consumer_group_heartbeat_request.h"
#include "kafka_protocol/messages/consumer_group_heartbeat_response.h"
#include "kafka_protocol/messages/consumer_protocol_assignment.h"
#include "kafka_protocol/messages/consumer_protocol_subscription.h"
#include "kafka_protocol/messages/delete_records_request.h"
#include "kafka_protocol/messages/delete_records_response.h"
#include "kafka_protocol/messages/describe_groups_request.h"
#include "kafka_protocol/messages/describe_groups_response.h"
#include "kafka_protocol/messages/join_group_request.h"
#include "kafka_protocol/messages/join_group_response.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"
#include "kafka_protocol/messages/sync_group_request.h"
#include "kafka_protocol/messages/sync_group_response.h"
#include "kafka_protocol/wire_writer.h"

namespace naru::command_line {
namespace {

constexpr Duration kPatience = 60s;
constexpr client::VersionRange kJoinVersions{.max = 3};    // a member gets its id and is in
constexpr client::VersionRange kCommitVersions{.max = 9};  // topics by name

template <class Message>
Bytes versioned(const Message& message) {
  Bytes bytes(2);  // version 0
  kafka::WireWriter writer(bytes);
  kafka::encode(writer, message, 0);
  return bytes;
}

class GroupCommandsTest : public CommandsTest {
 protected:
  GroupCommandsTest() {
    naru({"topic", "create", "orders", "--partitions", "2"});
    naru({"produce", "orders", "--partition", "0"}, "a\nb\nc\n");
    naru({"produce", "orders", "--partition", "1"}, "d\n");
    naru({"group", "describe", "g"});  // makes the topic of the offsets, as whoever asks for a coordinator first
  }

  struct Member {
    std::string id;
    int32_t generation = -1;  // or epoch
    client::Connection connection = nullptr;
    std::vector<kafka::ConsumerGroupHeartbeatRequest::TopicPartitions> owned = {};  // in the consumer protocol
  };

  // The first member of a group, which assigns itself what it likes.
  Member join(std::string topic, std::vector<int32_t> partitions) {
    Member member;
    world_.run_task(join_and_sync(member, std::move(topic), std::move(partitions)));
    return member;
  }
  void commit(const Member& member, int32_t partition, int64_t offset) {
    world_.run_task(commit_offset(member, partition, offset));
  }
  void delete_records(int32_t partition, int64_t before) { world_.run_task(delete_before(partition, before)); }
  kafka::DescribeGroupsResponse describe_as_others_do(const Member& member) {
    kafka::DescribeGroupsResponse response;
    world_.run_task(describe(member, response));
    return response;
  }
  // A member of the consumer protocol, which has nothing until it says that it wants to join.
  Member new_member(std::string id) {
    Member member{.id = std::move(id), .generation = 0};
    world_.run_task(open_connection(member));
    return member;
  }
  // Tells that it owns what it was told last, and takes what it is told now, or else leaves that alone: it holds on.
  enum class Then { obeys, holds_on };
  void heartbeat(Member& member, Then then = Then::obeys) { world_.run_task(send_heartbeat(member, then)); }
  // Asks to join and leaves it at that.
  void knock(client::Connection& connection) { world_.run_task(ask_to_join(connection)); }

 private:
  Task<client::Connection> connect() {
    co_return (co_await client::BrokerConnection::open(seams(), {"broker", 9092}, {.client_id = "app"})).value();
  }

  static kafka::JoinGroupRequest join_request(const Bytes& subscription) {
    kafka::JoinGroupRequest request;
    request.group_id = "g";
    request.session_timeout_ms = 30'000;
    request.rebalance_timeout_ms = 60'000;
    request.protocol_type = "consumer";
    request.protocols = {{.name = "range", .metadata = subscription}};
    return request;
  }
  static Bytes subscription_to(std::string topic) {
    kafka::ConsumerProtocolSubscription subscription;
    subscription.topics = {std::move(topic)};
    return versioned(subscription);
  }

  Task<void> join_and_sync(Member& member, std::string topic, std::vector<int32_t> partitions) {
    member.connection = co_await connect();
    const Bytes subscription = subscription_to(topic);
    const auto joined = (co_await member.connection->call<kafka::JoinGroupResponse>(join_request(subscription),
                                                                                    kPatience, kJoinVersions))
                            .value();
    EXPECT_EQ(joined.error_code, ErrorCode::none);
    member.id = joined.member_id;
    member.generation = joined.generation_id;
    kafka::ConsumerProtocolAssignment assignment;
    if (!partitions.empty()) assignment.assigned_partitions = {{.topic = topic, .partitions = partitions}};
    const Bytes bytes = versioned(assignment);
    kafka::SyncGroupRequest sync;
    sync.group_id = "g";
    sync.generation_id = member.generation;
    sync.member_id = member.id;
    sync.assignments = {{.member_id = member.id, .assignment = bytes}};
    const auto synced =
        (co_await member.connection->call<kafka::SyncGroupResponse>(sync, kPatience, {.max = 4})).value();
    EXPECT_EQ(synced.error_code, ErrorCode::none);
  }

  Task<void> open_connection(Member& member) { member.connection = co_await connect(); }

  static Task<void> send_heartbeat(Member& member, Then then) {
    kafka::ConsumerGroupHeartbeatRequest request;
    request.group_id = "g";
    request.member_id = member.id;
    request.member_epoch = member.generation;
    request.rebalance_timeout_ms = 60'000;
    request.subscribed_topic_names = {"orders"};
    request.topic_partitions = member.owned;
    const auto answer =
        (co_await member.connection->call<kafka::ConsumerGroupHeartbeatResponse>(request, kPatience)).value();
    EXPECT_EQ(answer.error_code, ErrorCode::none) << answer.error_message.value_or("");
    member.generation = answer.member_epoch;
    if (then == Then::holds_on || !answer.assignment) co_return;
    member.owned.clear();
    for (const auto& topic : answer.assignment->topic_partitions)
      member.owned.push_back({.topic_id = topic.topic_id, .partitions = topic.partitions});
  }

  Task<void> commit_offset(const Member& member, int32_t partition, int64_t offset) {
    kafka::OffsetCommitRequest request;
    request.group_id = "g";
    request.generation_id_or_member_epoch = member.generation;
    request.member_id = member.id;
    auto& topic = request.topics.emplace_back();
    topic.name = "orders";
    topic.partitions = {
        {.partition_index = PartitionIndex(partition), .committed_offset = Offset(offset), .committed_metadata = ""}};
    const auto committed =
        (co_await member.connection->call<kafka::OffsetCommitResponse>(request, kPatience, kCommitVersions)).value();
    EXPECT_EQ(committed.topics.at(0).partitions.at(0).error_code, ErrorCode::none);
  }

  static Task<void> describe(const Member& member, kafka::DescribeGroupsResponse& response) {
    kafka::DescribeGroupsRequest request;
    request.groups = {"g"};
    response = (co_await member.connection->call<kafka::DescribeGroupsResponse>(request, kPatience)).value();
  }

  Task<void> delete_before(int32_t partition, int64_t offset) {
    const client::Connection connection = co_await connect();
    kafka::DeleteRecordsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = "orders";
    topic.partitions = {{.partition_index = PartitionIndex(partition), .offset = Offset(offset)}};
    request.timeout_ms = 1000;
    ignore_answer(co_await connection->call<kafka::DeleteRecordsResponse>(request, kPatience));
  }

  Task<void> ask_to_join(client::Connection& connection) {
    connection = co_await connect();
    const Bytes subscription = subscription_to("orders");
    EXPECT_TRUE(connection->send(join_request(subscription), kJoinVersions).ok());
  }

  static void ignore_answer(const Result<kafka::DeleteRecordsResponse>& answer) { EXPECT_TRUE(answer); }
};

TEST_F(GroupCommandsTest, WithoutGroups) {
  EXPECT_EQ(naru({"group", "list"}).output, "there are no groups; a consumer with a group.id makes one\n");
  EXPECT_EQ(naru({"group", "list", "--json"}).output, "[]\n");
  for (const char* command : {"describe", "why", "delete"}) {
    const Outcome missing = naru({"group", command, "nope"});
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_NE(missing.error.find("group nope: there is no such group (GROUP_ID_NOT_FOUND)\n  `naru group list`"),
              std::string::npos)
        << missing.error;
  }
}

TEST_F(GroupCommandsTest, AResetShowsWhatItChangesAndADryRunChangesNothing) {
  const Outcome dry = naru({"group", "reset", "g", "--topic", "orders", "--to", "latest", "--dry-run"});
  EXPECT_EQ(dry.output,
            "PARTITION  OLD  NEW  END  NOTE\n"
            "        0    -    3    3\n"
            "        1    -    1    1\n"
            "a dry run: nothing was changed\n");
  EXPECT_EQ(dry.error, "naru: there is no group g yet\n");
  EXPECT_EQ(naru({"group", "list", "--json"}).output, "[]\n");
  EXPECT_EQ(naru({"group", "reset", "g", "--topic", "orders", "--to", "offset", "2"}).output,
            "PARTITION  OLD  NEW  END  NOTE\n"
            "        0    -    2    3\n"
            "        1    -    1    1  2 is beyond the end\n"
            "set 2 offsets of group g in topic orders\n");
  EXPECT_EQ(naru({"group", "reset", "g", "--topic", "orders", "--partition", "0", "--to", "earliest"}).output,
            "PARTITION  OLD  NEW  END  NOTE\n"
            "        0    2    0    3\n"
            "set 1 offset of group g in topic orders\n");
  EXPECT_EQ(naru({"group", "list"}).output,
            "GROUP  TYPE     STATE  PROTOCOL  MEMBERS  LAG\n"
            "g      classic  Empty  -               0    3\n");
}

TEST_F(GroupCommandsTest, AResetToATime) {
  const Outcome past = naru({"group", "reset", "g", "--topic", "orders", "--to", "time", "-1h", "--json"});
  EXPECT_NE(past.output.find("\"new_offset\": 0"), std::string::npos) << past.output;
  world_.run_for(10min);
  const Outcome young = naru({"group", "reset", "g", "--topic", "orders", "--to", "time", "-1m"});
  EXPECT_NE(young.output.find("        0    0    3    3\n"), std::string::npos) << young.output;
}

TEST_F(GroupCommandsTest, AResetOfWhatDoesNotExistIsRefused) {
  EXPECT_NE(naru({"group", "reset", "g", "--topic", "nope", "--to", "latest"}).error.find("there is no such topic"),
            std::string::npos);
  EXPECT_NE(naru({"group", "reset", "g", "--topic", "orders", "--partition", "7", "--to", "latest"})
                .error.find("topic orders has no partition 7: it has 0 to 1"),
            std::string::npos);
  EXPECT_EQ(naru({"group", "list", "--json"}).output, "[]\n");
}

TEST_F(GroupCommandsTest, AnOffsetThatRetentionTookIsMovedToTheStart) {
  delete_records(0, 2);
  EXPECT_EQ(naru({"group", "reset", "g", "--topic", "orders", "--partition", "0", "--to", "offset", "1"}).output,
            "PARTITION  OLD  NEW  END  NOTE\n"
            "        0    -    2    3  1 is not there any more\n"
            "set 1 offset of group g in topic orders\n");
}

TEST_F(GroupCommandsTest, MembersOffsetsAndLag) {
  const Member member = join("orders", {0, 1});
  commit(member, 0, 1);
  world_.run_for(20s);
  const std::string described = naru({"group", "describe", "g"}).output;
  EXPECT_TRUE(described.starts_with("group g: Stable for ")) << described;
  EXPECT_NE(described.find("; classic, protocol consumer, assignor range; coordinated by broker 1 (broker:9092)\n"),
            std::string::npos)
      << described;
  EXPECT_NE(described.find(member.id + "  -         app     "), std::string::npos) << described;
  EXPECT_NE(described.find("  orders 0,1\n"), std::string::npos) << described;
  EXPECT_NE(described.find("orders          0          1      0    3    2     2"), std::string::npos) << described;
  EXPECT_NE(described.find("orders          1          -      0    1    -        -  " + member.id), std::string::npos)
      << described;
  EXPECT_NE(described.find("lag: 2 records; the oldest is 2"), std::string::npos) << described;
  const std::string json = naru({"group", "describe", "g", "--json"}).output;
  EXPECT_NE(json.find("\"lag\": 2,\n  \"lag_seconds\": 2"), std::string::npos) << json;
  EXPECT_NE(
      naru({"group", "list", "--state", "stable"}).output.find("g      classic  Stable  consumer        1    2\n"),
      std::string::npos);
  EXPECT_EQ(naru({"group", "list", "--state", "Empty"}).output, "there are no groups in this state\n");
}

TEST_F(GroupCommandsTest, AGroupWithMembersIsNeitherResetNorDeleted) {
  const Member member = join("orders", {0, 1});
  const Outcome reset = naru({"group", "reset", "g", "--topic", "orders", "--to", "latest"});
  EXPECT_EQ(reset.exit_code, 1);
  EXPECT_EQ(reset.output, "");
  EXPECT_NE(reset.error.find("group g has 1 member: " + member.id + " (client app, host "), std::string::npos)
      << reset.error;
  const Outcome removed = naru({"group", "delete", "g", "--json"});
  EXPECT_EQ(removed.exit_code, 1);
  EXPECT_EQ(removed.output, "{\n  \"deleted\": []\n}\n");
  EXPECT_NE(removed.error.find("NON_EMPTY_GROUP"), std::string::npos) << removed.error;
  world_.run_for(31s);  // its session
  EXPECT_EQ(naru({"group", "reset", "g", "--topic", "orders", "--to", "latest"}).exit_code, 0);
  EXPECT_EQ(naru({"group", "delete", "g"}).output, "deleted group g\n");
  EXPECT_EQ(naru({"group", "list", "--json"}).output, "[]\n");
}

TEST_F(GroupCommandsTest, WhyAGroupDoesNotMove) {
  const auto why = [this] { return naru({"group", "why", "g", "--watch", "2s"}).output; };
  const Member member = join("orders", {0, 1});
  EXPECT_TRUE(why().starts_with("group g has 1 member and has not committed an offset yet\n")) << why();
  commit(member, 0, 3);
  commit(member, 1, 1);
  EXPECT_EQ(why(), "group g has read everything: it is at the end of 2 partitions\n");
  naru({"produce", "orders", "--partition", "0"}, "e\nf\n");
  const std::string stuck = why();
  EXPECT_TRUE(stuck.starts_with("group g is behind by 2 records (the oldest is 2")) << stuck;
  EXPECT_NE(stuck.find(" old) and not moving: it committed nothing in 2.0 s\n  orders-0: 2 records behind, read by " +
                       member.id + " (client app, host "),
            std::string::npos)
      << stuck;
  delete_records(0, 4);
  EXPECT_TRUE(why().starts_with("group g has lost 1 record to retention")) << why();
  world_.run_for(31s);
  EXPECT_TRUE(why().starts_with("group g has had no members for ")) << why();
}

TEST_F(GroupCommandsTest, WhyNamesTheMemberThatARebalanceWaitsFor) {
  const Member member = join("orders", {0, 1});
  client::Connection other;
  knock(other);
  world_.run_for(5s);
  const std::string waiting = naru({"group", "why", "g"}).output;
  EXPECT_TRUE(waiting.starts_with("group g has been rebalancing for ")) << waiting;
  EXPECT_NE(waiting.find("), waiting for member " + member.id + " (client app, host "), std::string::npos) << waiting;
  EXPECT_NE(naru({"group", "why", "g", "--json"}).output.find("\"reason\": \"rebalancing\""), std::string::npos);
  other->close();
}

TEST_F(GroupCommandsTest, AGroupOfTheConsumerProtocol) {
  Member first = new_member("first");
  heartbeat(first);
  heartbeat(first);
  commit(first, 0, 1);
  EXPECT_EQ(naru({"group", "list"}).output,
            "GROUP  TYPE      STATE   PROTOCOL  MEMBERS  LAG\n"
            "g      consumer  Stable  consumer        1    2\n");
  const std::string described = naru({"group", "describe", "g"}).output;
  EXPECT_TRUE(described.starts_with("group g: Stable; consumer, epoch ")) << described;
  EXPECT_NE(described.find(", assignor uniform; coordinated by broker 1 (broker:9092)\n"), std::string::npos)
      << described;
  EXPECT_NE(described.find("  orders 0,1  reached\n"), std::string::npos) << described;
  EXPECT_NE(described.find("orders          1          -      0    1    -        -  first"), std::string::npos)
      << described;
  EXPECT_TRUE(naru({"group", "why", "g", "--watch", "2s"}).output.starts_with("group g is behind by 2 records"));
  EXPECT_NE(
      naru({"group", "reset", "g", "--topic", "orders", "--to", "latest"}).error.find("group g has 1 member: first"),
      std::string::npos);
  EXPECT_NE(naru({"group", "delete", "g"}).error.find("NON_EMPTY_GROUP"), std::string::npos);

  world_.run_for(46s);  // its session
  const std::string empty = naru({"group", "why", "g"}).output;
  EXPECT_TRUE(empty.starts_with("group g has had no members for ")) << empty;
  EXPECT_NE(empty.find("; it is behind by 2 records"), std::string::npos) << empty;
  EXPECT_EQ(naru({"group", "reset", "g", "--topic", "orders", "--to", "latest"}).exit_code, 0);
  EXPECT_EQ(naru({"group", "delete", "g"}).output, "deleted group g\n");
  EXPECT_EQ(naru({"group", "list", "--json"}).output, "[]\n");
}

TEST_F(GroupCommandsTest, WhyNamesTheMemberThatKeepsWhatAnotherIsToHave) {
  const auto why = [this] { return naru({"group", "why", "g", "--watch", "1s"}).output; };
  Member first = new_member("first"), second = new_member("second");
  heartbeat(first);
  heartbeat(first);
  heartbeat(second);
  const std::string unaware = why();
  EXPECT_TRUE(unaware.starts_with("group g has been rebalancing for 0.")) << unaware;
  EXPECT_NE(unaware.find("), waiting for member first (client app, host "), std::string::npos) << unaware;
  EXPECT_NE(unaware.find(") to give up orders "), std::string::npos) << unaware;
  EXPECT_NE(unaware.find("\n  second (client app, host "), std::string::npos) << unaware;
  EXPECT_NE(unaware.find(") waits for orders "), std::string::npos) << unaware;

  heartbeat(first, Then::holds_on);
  const std::string holding = why();
  EXPECT_NE(holding.find(") to give up orders "), std::string::npos)
      << "it has been told, and has not said that it did";
  EXPECT_EQ(naru({"group", "describe", "g"}).output.find("reached"), std::string::npos);
  const std::string json = naru({"group", "describe", "g", "--json"}).output;
  EXPECT_NE(json.find("\"state\": \"Reconciling\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"target_partitions\": [\n"), std::string::npos) << json;

  first.owned[0].partitions.pop_back();
  heartbeat(first);
  const std::string released = why();
  EXPECT_NE(released.find("), waiting for member second (client app, host "), std::string::npos) << released;
  EXPECT_NE(released.find(" with its next heartbeat\n"), std::string::npos) << released;
  heartbeat(second);
  heartbeat(second);
  EXPECT_TRUE(why().starts_with("group g has 2 members and has not committed an offset yet\n")) << why();
}

TEST_F(GroupCommandsTest, OtherClientsDoNotGetOurOwnFields) {
  const Member member = join("orders", {0, 1});
  const auto described = describe_as_others_do(member);
  EXPECT_EQ(described.groups.at(0).group_state, "Stable");
  EXPECT_EQ(described.groups.at(0).naru_state_since_ms, -1);
}

TEST_F(GroupCommandsTest, WhyNamesATopicThatDoesNotExist) {
  join("odrers", {});
  EXPECT_EQ(naru({"group", "why", "g"}).output,
            "group g: its only member has no partition: topic odrers does not exist\n");
}

}  // namespace
}  // namespace naru::command_line
