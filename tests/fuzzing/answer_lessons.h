// What the answers to some requests teach about the brokers.
#pragma once

#include "fuzzing/known_world.h"
#include "kafka_protocol/messages/all_messages.h"

namespace naru::fuzzing {

template <class Request, class Response>
void learn(KnownWorld&, BrokerId, const Request&, const Response&) {}

void learn(KnownWorld& world, BrokerId from, const kafka::AddOffsetsToTxnRequest& request,
           const kafka::AddOffsetsToTxnResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::DeleteGroupsRequest& request,
           const kafka::DeleteGroupsResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::OffsetCommitRequest& request,
           const kafka::OffsetCommitResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::ConsumerGroupHeartbeatRequest& request,
           const kafka::ConsumerGroupHeartbeatResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::EndTxnRequest& request,
           const kafka::EndTxnResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::AddPartitionsToTxnRequest& request,
           const kafka::AddPartitionsToTxnResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::FetchRequest& request, const kafka::FetchResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::FindCoordinatorRequest& request,
           const kafka::FindCoordinatorResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::HeartbeatRequest& request,
           const kafka::HeartbeatResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::InitProducerIdRequest& request,
           const kafka::InitProducerIdResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::JoinGroupRequest& request,
           const kafka::JoinGroupResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::LeaveGroupRequest& request,
           const kafka::LeaveGroupResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::NaruMetadataRequest& request,
           const kafka::NaruMetadataResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::OffsetDeleteRequest& request,
           const kafka::OffsetDeleteResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::ProduceRequest& request,
           const kafka::ProduceResponse& response);
void learn(KnownWorld& world, BrokerId from, const kafka::SyncGroupRequest& request,
           const kafka::SyncGroupResponse& response);

}  // namespace naru::fuzzing
