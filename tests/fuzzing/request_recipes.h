// What the fields of some requests have to do with each other, beyond what their names tell: without it most of these
// requests would be refused at the first check.
#pragma once

#include "fuzzing/request_filler.h"

namespace naru::fuzzing {

// All others are complete once they are filled.
template <class Request>
void arrange(RequestFiller&, Request&) {}

void arrange(RequestFiller& filler, kafka::AddOffsetsToTxnRequest& request);
void arrange(RequestFiller& filler, kafka::AlterConfigsRequest& request);
void arrange(RequestFiller& filler, kafka::AlterPartitionRequest& request);
void arrange(RequestFiller& filler, kafka::ConsumerGroupHeartbeatRequest& request);
void arrange(RequestFiller& filler, kafka::CreatePartitionsRequest& request);
void arrange(RequestFiller& filler, kafka::CreateTopicsRequest& request);
void arrange(RequestFiller& filler, kafka::DeleteTopicsRequest& request);
void arrange(RequestFiller& filler, kafka::DescribeConfigsRequest& request);
void arrange(RequestFiller& filler, kafka::DescribeClientQuotasRequest& request);
void arrange(RequestFiller& filler, kafka::DescribeQuorumRequest& request);
void arrange(RequestFiller& filler, kafka::EndTxnRequest& request);
void arrange(RequestFiller& filler, kafka::FetchRequest& request);
void arrange(RequestFiller& filler, kafka::FindCoordinatorRequest& request);
void arrange(RequestFiller& filler, kafka::IncrementalAlterConfigsRequest& request);
void arrange(RequestFiller& filler, kafka::InitProducerIdRequest& request);
void arrange(RequestFiller& filler, kafka::JoinGroupRequest& request);
void arrange(RequestFiller& filler, kafka::ListConfigResourcesRequest& request);
void arrange(RequestFiller& filler, kafka::ListTransactionsRequest& request);
void arrange(RequestFiller& filler, kafka::MetadataRequest& request);
void arrange(RequestFiller& filler, kafka::NaruForwardRequest& request);
void arrange(RequestFiller& filler, kafka::NaruMissingTopicsRequest& request);
void arrange(RequestFiller& filler, kafka::NaruOfflineLogsRequest& request);
void arrange(RequestFiller& filler, kafka::OffsetCommitRequest& request);
void arrange(RequestFiller& filler, kafka::OffsetFetchRequest& request);
void arrange(RequestFiller& filler, kafka::ProduceRequest& request);
void arrange(RequestFiller& filler, kafka::SyncGroupRequest& request);
void arrange(RequestFiller& filler, kafka::TxnOffsetCommitRequest& request);
void arrange(RequestFiller& filler, kafka::UpdateFeaturesRequest& request);
void arrange(RequestFiller& filler, kafka::WriteTxnMarkersRequest& request);

}  // namespace naru::fuzzing
