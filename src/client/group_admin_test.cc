#include "client/group_admin.h"

#include <gtest/gtest.h>

#include "client/fake_broker_testing.h"
#include "client/group_offsets.h"
#include "kafka_protocol/messages/consumer_group_describe_request.h"
#include "kafka_protocol/messages/consumer_group_describe_response.h"
#include "kafka_protocol/messages/delete_groups_response.h"
#include "kafka_protocol/messages/describe_groups_request.h"
#include "kafka_protocol/messages/describe_groups_response.h"
#include "kafka_protocol/messages/find_coordinator_response.h"
#include "kafka_protocol/messages/list_groups_response.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"
#include "kafka_protocol/messages/offset_fetch_request.h"
#include "kafka_protocol/messages/offset_fetch_response.h"

namespace naru::client {
namespace {

using Request = FakeBroker::Request;
using Described = kafka::DescribeGroupsResponse::DescribedGroup;
using ConsumerDescribed = kafka::ConsumerGroupDescribeResponse::DescribedGroup;

// Two brokers; each test says which of them coordinates group "g".
class GroupAdminTest : public testing::Test {
 protected:
  GroupAdminTest() {
    for (FakeBroker* broker : {&first_, &second_}) {
      broker->on(kafka::ApiKey::metadata, [](const Request& request) {
        kafka::MetadataResponse response;
        response.brokers = {{.node_id = BrokerId(1), .host = "first", .port = 1},
                            {.node_id = BrokerId(2), .host = "second", .port = 2}};
        return request.answer(response);
      });
      broker->on(kafka::ApiKey::find_coordinator, [this](const Request& request) {
        kafka::FindCoordinatorResponse response;
        response.coordinators.push_back(
            {.key = "g", .node_id = coordinator_, .host = "", .port = 0, .error_code = ErrorCode::none});
        return request.answer(response);
      });
      describes_consumer_group(*broker, ErrorCode::group_id_not_found, "");
    }
  }

  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }

  static void describes(FakeBroker& broker, std::function<Described()> describe) {
    broker.on(kafka::ApiKey::describe_groups, [describe = std::move(describe)](const Request& request) {
      kafka::DescribeGroupsResponse response;
      response.groups = {describe()};
      return request.answer(response);
    });
  }

  // The same for every group that it is asked for.
  static void describes_consumer_group(FakeBroker& broker, ErrorCode error_code, std::string state) {
    broker.on(kafka::ApiKey::consumer_group_describe, [error_code, state](const Request& request) {
      kafka::ConsumerGroupDescribeResponse response;
      for (const std::string_view id : request.body<kafka::ConsumerGroupDescribeRequest>().group_ids) {
        ConsumerDescribed& group = response.groups.emplace_back();
        group.error_code = error_code;
        group.group_id = id;
        group.group_state = state;
      }
      return request.answer(response);
    });
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("client").start();
  FakeBroker first_{world_.add_node("first"), 1};
  FakeBroker second_{world_.add_node("second"), 2};
  BrokerId coordinator_{1};
  ClusterClient client_{process_->seams(), {.bootstrap = {{"first", 1}}, .request_timeout = 3s}};
};

TEST_F(GroupAdminTest, ACoordinatorThatIsLoadingIsAskedAgain) {
  int asked = 0;
  describes(first_, [&] {
    return Described{.error_code = ++asked < 3 ? ErrorCode::coordinator_load_in_progress : ErrorCode::none,
                     .group_id = "g",
                     .group_state = "Empty"};
  });
  const auto group = run(describe_group(client_, "g", 3s));
  ASSERT_TRUE(group) << group.error().to_string();
  EXPECT_EQ(group->state, "Empty");
  EXPECT_EQ(asked, 3);
}

TEST_F(GroupAdminTest, PatienceEnds) {
  int asked = 0;
  describes(first_, [&asked] {
    ++asked;
    return Described{.error_code = ErrorCode::coordinator_load_in_progress, .group_id = "g"};
  });
  EXPECT_EQ(run(describe_group(client_, "g", Duration::zero())).error().code(),
            ErrorCode::coordinator_load_in_progress);
  EXPECT_EQ(asked, 1);
  const MonotonicTime begin = world_.now();
  EXPECT_EQ(run(describe_group(client_, "g", 3s)).error().code(), ErrorCode::coordinator_load_in_progress);
  EXPECT_GE(world_.now() - begin, 3s);
  EXPECT_LT(world_.now() - begin, 4s);
}

TEST_F(GroupAdminTest, ACoordinatorThatHasMovedIsLookedUpAgain) {
  describes(first_, [this] {
    coordinator_ = BrokerId(2);
    return Described{.error_code = ErrorCode::not_coordinator, .group_id = "g"};
  });
  describes(second_, [] { return Described{.group_id = "g", .group_state = "Stable"}; });
  const auto group = run(describe_group(client_, "g", 3s));
  ASSERT_TRUE(group) << group.error().to_string();
  EXPECT_EQ(group->coordinator, BrokerId(2));
  EXPECT_EQ(group->state_since, -1) << "a broker that is not Naru";
}

TEST_F(GroupAdminTest, OurOwnFieldsAreAskedForAndRead) {
  first_.on(kafka::ApiKey::describe_groups, [](const Request& request) {
    kafka::DescribeGroupsResponse response;
    response.groups = {{.group_id = "g", .group_state = "PreparingRebalance"}};
    if (request.body<kafka::DescribeGroupsRequest>().naru_include_progress) {
      response.groups[0].naru_state_since_ms = 77;
      response.groups[0].naru_waiting_for = {"m"};
    }
    return request.answer(response);
  });
  const auto group = run(describe_group(client_, "g", 3s));
  ASSERT_TRUE(group) << group.error().to_string();
  EXPECT_EQ(group->state_since, 77);
  EXPECT_EQ(group->waiting_for, std::vector<std::string>{"m"});
}

TEST_F(GroupAdminTest, OurOwnFieldsOfGroupsOfTheConsumerProtocolToo) {
  describes(first_, [] { return Described{.error_code = ErrorCode::group_id_not_found, .group_id = "g"}; });
  first_.on(kafka::ApiKey::consumer_group_describe, [](const Request& request) {
    kafka::ConsumerGroupDescribeResponse response;
    ConsumerDescribed& group = response.groups.emplace_back();
    group.group_id = "g";
    group.group_state = "Reconciling";
    auto& member = group.members.emplace_back();
    member.member_id = "m";
    if (request.body<kafka::ConsumerGroupDescribeRequest>().naru_include_progress) {
      group.naru_state_since_ms = 77;
      member.naru_pending_revocation.push_back(
          {.topic_id = {}, .topic_name = "t", .partitions = {PartitionIndex(3), PartitionIndex(1)}});
    }
    return request.answer(response);
  });
  const auto group = run(describe_group(client_, "g", 3s));
  ASSERT_TRUE(group) << group.error().to_string();
  EXPECT_EQ(group->state_since, 77);
  EXPECT_EQ(group->members.at(0).pending_revocation,
            (std::vector<TopicPartition>{{"t", PartitionIndex(1)}, {"t", PartitionIndex(3)}}));
}

TEST_F(GroupAdminTest, WhatMembersHaveOfAnotherProtocolIsCounted) {
  const auto garbage = [](std::string protocol_type) {
    return [protocol_type] {
      Described group{.group_id = "g", .group_state = "Stable", .protocol_type = protocol_type};
      group.members.push_back({.member_id = "m", .client_host = "/10.0.0.7", .member_assignment = Bytes(17)});
      group.members.back().member_assignment[0] = std::byte{0xff};
      return group;
    };
  };
  for (const char* protocol_type : {"connect", "consumer"}) {
    describes(first_, garbage(protocol_type));
    const auto group = run(describe_group(client_, "g", 3s));
    ASSERT_TRUE(group) << group.error().to_string();
    EXPECT_EQ(group->members.at(0).unread_bytes, 17u);
    EXPECT_EQ(group->members.at(0).host, "10.0.0.7");
  }
}

TEST_F(GroupAdminTest, AGroupThatDoesNotExistIsSaidInBothWays) {
  describes(first_, [] { return Described{.group_id = "g", .group_state = "Dead"}; });
  EXPECT_EQ(run(describe_group(client_, "g", 3s)).error().code(), ErrorCode::group_id_not_found);
  describes(first_, [] { return Described{.error_code = ErrorCode::group_id_not_found, .group_id = "g"}; });
  EXPECT_EQ(run(describe_group(client_, "g", 3s)).error().message(),
            "group g: there is no such group (GROUP_ID_NOT_FOUND)");
  describes(first_, [] { return Described{.group_id = "another", .group_state = "Stable"}; });
  EXPECT_EQ(run(describe_group(client_, "g", 3s)).error().code(), ErrorCode::network_exception);
}

TEST_F(GroupAdminTest, AGroupThatIsNotClassicIsAskedForAsOneOfTheConsumerProtocol) {
  describes(first_, [] { return Described{.error_code = ErrorCode::group_id_not_found, .group_id = "g"}; });
  describes_consumer_group(first_, ErrorCode::none, "Assigning");
  const auto group = run(describe_group(client_, "g", 3s));
  ASSERT_TRUE(group) << group.error().to_string();
  EXPECT_EQ(group->type, "consumer");
  EXPECT_EQ(group->state, "Assigning");
  EXPECT_EQ(group->coordinator, BrokerId(1));
  describes_consumer_group(first_, ErrorCode::topic_authorization_failed, "");
  EXPECT_EQ(run(describe_group(client_, "g", 3s)).error().code(), ErrorCode::topic_authorization_failed);
  describes_consumer_group(first_, ErrorCode::unsupported_version, "");
  EXPECT_EQ(run(describe_group(client_, "g", 3s)).error().code(), ErrorCode::group_id_not_found);
}

TEST_F(GroupAdminTest, ABrokerWithoutTheConsumerProtocolHasNoSuchGroups) {
  first_.on(kafka::ApiKey::api_versions, [](const Request& request) {
    kafka::ApiVersionsResponse response;
    for (const kafka::ApiRow& row : kafka::kApiTable) {
      if (row.key == kafka::ApiKey::consumer_group_describe) continue;
      response.api_keys.push_back({static_cast<int16_t>(row.key), row.min_advertised_version, row.max_version});
    }
    return request.answer(response);
  });
  describes(first_, [] { return Described{.group_id = "g", .group_state = "Dead"}; });
  EXPECT_EQ(run(describe_group(client_, "g", 3s)).error().code(), ErrorCode::group_id_not_found);
  EXPECT_EQ(first_.requests(kafka::ApiKey::consumer_group_describe), 0u);
}

TEST_F(GroupAdminTest, GroupsOfBothTypesAreDescribedTogether) {
  first_.on(kafka::ApiKey::describe_groups, [](const Request& request) {
    kafka::DescribeGroupsResponse response;
    response.groups = {{.group_id = "classic", .group_state = "Stable"},
                       {.error_code = ErrorCode::group_id_not_found, .group_id = "new"},
                       {.error_code = ErrorCode::not_coordinator, .group_id = "elsewhere"}};
    return request.answer(response);
  });
  describes_consumer_group(first_, ErrorCode::none, "Reconciling");
  const auto groups = run(describe_groups(client_, BrokerId(1), {"classic", "new", "elsewhere"}));
  ASSERT_TRUE(groups) << groups.error().to_string();
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0].type, "classic");
  EXPECT_EQ((*groups)[1].id, "new");
  EXPECT_EQ((*groups)[1].type, "consumer");
}

TEST_F(GroupAdminTest, GroupsOfAllBrokersAreListed) {
  int asked = 0;
  const auto list = [&asked](std::string name) {
    return [name, &asked](const Request& request) {
      kafka::ListGroupsResponse response;
      response.error_code = ++asked == 1 ? ErrorCode::coordinator_load_in_progress : ErrorCode::none;
      if (response.error_code == ErrorCode::none) {
        response.groups.push_back(
            {.group_id = name, .protocol_type = "consumer", .group_state = "Stable", .group_type = "classic"});
      }
      return request.answer(response);
    };
  };
  first_.on(kafka::ApiKey::list_groups, list("z"));
  second_.on(kafka::ApiKey::list_groups, list("a"));
  const auto groups = run(list_groups(client_, {}));
  ASSERT_TRUE(groups) << groups.error().to_string();
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0].id, "a");
  EXPECT_EQ((*groups)[0].coordinator, BrokerId(2));
  EXPECT_EQ((*groups)[1].coordinator, BrokerId(1));
}

TEST_F(GroupAdminTest, AGroupWithMembersIsNotDeleted) {
  first_.on(kafka::ApiKey::delete_groups, [](const Request& request) {
    kafka::DeleteGroupsResponse response;
    response.results = {{.group_id = "g", .error_code = ErrorCode::non_empty_group}};
    return request.answer(response);
  });
  EXPECT_EQ(run(delete_group(client_, "g")).code(), ErrorCode::non_empty_group);
}

using FetchedPartition = kafka::OffsetFetchResponse::OffsetFetchResponsePartitions;

// Of group g and topic t: partition 0 is at offset 7.
kafka::OffsetFetchResponse offsets_of_g(FetchedPartition partition_1) {
  partition_1.partition_index = PartitionIndex(1);
  partition_1.committed_offset = kNoOffset;
  partition_1.metadata = "";
  kafka::OffsetFetchResponse response;
  auto& group = response.groups.emplace_back();
  group.group_id = "g";
  auto& topic = group.topics.emplace_back();
  topic.name = "t";
  topic.partitions = {{.partition_index = PartitionIndex(0), .committed_offset = Offset(7), .metadata = ""},
                      std::move(partition_1)};
  return response;
}

TEST_F(GroupAdminTest, OffsetsThatWereNeverCommittedAreNoOffsets) {
  first_.on(kafka::ApiKey::offset_fetch, [](const Request& request) { return request.answer(offsets_of_g({})); });
  const auto offsets = run(fetch_group_offsets(client_, "g"));
  ASSERT_TRUE(offsets) << offsets.error().to_string();
  EXPECT_EQ(*offsets, (CommittedOffsets{{{"t", PartitionIndex(0)}, Offset(7)}}));
}

TEST_F(GroupAdminTest, WhoseTransactionsHoldOffsets) {
  first_.on(kafka::ApiKey::offset_fetch, [](const Request& request) {
    const auto body = request.body<kafka::OffsetFetchRequest>();
    EXPECT_TRUE(body.require_stable && body.naru_include_pending);
    return request.answer(
        offsets_of_g({.error_code = ErrorCode::unstable_offset_commit, .naru_pending_producer_id = ProducerId(4000)}));
  });
  const auto pending = run(find_pending_offsets(client_, "g"));
  ASSERT_TRUE(pending) << pending.error().to_string();
  EXPECT_EQ(*pending, (std::map<TopicPartition, ProducerId>{{{"t", PartitionIndex(1)}, ProducerId(4000)}}));
}

TEST_F(GroupAdminTest, OffsetsAreCommittedAsNobodysMember) {
  ErrorCode answer = ErrorCode::none;
  bool leaves_out = false;
  first_.on(kafka::ApiKey::offset_commit, [&](const Request& request) {
    const auto body = request.body<kafka::OffsetCommitRequest>();
    EXPECT_EQ(body.generation_id_or_member_epoch, -1);
    EXPECT_EQ(body.member_id, "");
    EXPECT_EQ(body.topics.at(0).partitions.at(0).committed_offset, Offset(5));
    kafka::OffsetCommitResponse response;
    response.topics.emplace_back().name = "t";
    if (!leaves_out) response.topics[0].partitions = {{.partition_index = PartitionIndex(0), .error_code = answer}};
    return request.answer(response);
  });
  const CommittedOffsets offsets{{{"t", PartitionIndex(0)}, Offset(5)}};
  EXPECT_TRUE(run(commit_group_offsets(client_, "g", offsets)).ok());
  answer = ErrorCode::unknown_member_id;
  EXPECT_EQ(run(commit_group_offsets(client_, "g", offsets)).code(), ErrorCode::unknown_member_id);
  leaves_out = true;
  EXPECT_EQ(run(commit_group_offsets(client_, "g", offsets)).code(), ErrorCode::network_exception);
}

}  // namespace
}  // namespace naru::client
