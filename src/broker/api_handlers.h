// The handlers, one per API; the body of each lives in handlers/<api>_handler.cc.
//
// A handler decodes its request, authorizes, asks the core, and encodes the response. It runs on the connection's loop
// up to its first suspension, so that requests of one connection reach a partition in their order.
#pragma once

#include "async/task.h"
#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "kafka_protocol/wire_reader.h"
#include "network/response.h"

namespace naru {

using ApiHandler = Task<Response>(const BrokerServices&, const RequestContext&, kafka::WireReader&);

ApiHandler handle_produce, handle_fetch, handle_list_offsets, handle_metadata, handle_api_versions,
    handle_create_topics, handle_delete_topics, handle_delete_records, handle_init_producer_id,
    handle_offset_for_leader_epoch, handle_describe_configs, handle_alter_configs, handle_describe_log_dirs,
    handle_create_partitions, handle_incremental_alter_configs, handle_describe_cluster, handle_describe_producers,
    handle_list_config_resources, handle_describe_topic_partitions, handle_find_coordinator, handle_join_group,
    handle_sync_group, handle_heartbeat, handle_leave_group, handle_offset_commit, handle_offset_fetch,
    handle_offset_delete, handle_describe_groups, handle_list_groups, handle_delete_groups,
    handle_consumer_group_heartbeat, handle_consumer_group_describe, handle_elect_leaders, handle_alter_partition,
    handle_allocate_producer_ids, handle_naru_metadata, handle_naru_broker_stopping, handle_naru_topics_removed,
    handle_naru_missing_topics, handle_add_partitions_to_txn, handle_add_offsets_to_txn, handle_end_txn,
    handle_write_txn_markers, handle_txn_offset_commit, handle_describe_transactions, handle_list_transactions,
    handle_naru_add_partitions_to_txn, handle_naru_forward, handle_naru_offline_logs, handle_naru_producers,
    handle_sasl_handshake, handle_sasl_authenticate, handle_describe_acls, handle_create_acls, handle_delete_acls,
    handle_create_delegation_token, handle_renew_delegation_token, handle_expire_delegation_token,
    handle_describe_delegation_token, handle_list_partition_reassignments, handle_describe_client_quotas,
    handle_describe_user_scram_credentials, handle_describe_quorum, handle_update_features, handle_unregister_broker;

}  // namespace naru
