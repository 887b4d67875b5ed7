// Looking at the transactions that coordinators know, and taking a transactional id away from its producer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/cluster_client.h"
#include "record_format/transaction_marker.h"

namespace naru::client {

// The topic in which coordinators keep what they know: whoever leads one of its partitions coordinates.
inline constexpr const char* kTransactionStateTopic = "__transaction_state";

// Kafka's words for states.
bool is_ongoing(std::string_view state);
// The outcome is decided, and markers are being written.
bool is_being_ended(std::string_view state);

struct ListedTransaction {
  std::string id;
  std::string state;
  ProducerId producer_id = kNoProducerId;
  BrokerId coordinator = kNoBroker;
};

struct TransactionDescription {
  std::string id;
  std::string state;
  ProducerIdentity producer;
  Duration timeout{};
  WallTimeMs start = -1;                   // of the transaction, by the coordinator's clock; -1: there is none
  WallTimeMs last_update = -1;             // since when it is in its state; -1: the broker does not tell
  std::vector<TopicPartition> partitions;  // in order
  BrokerId coordinator = kNoBroker;

  // Something is open, or being ended.
  bool is_unfinished() const { return is_ongoing(state) || is_being_ended(state); }
};

struct TransactionFilter {
  std::vector<std::string> states;       // none: all
  std::vector<ProducerId> producer_ids;  // likewise
};

// Those of all brokers, in the order of their ids. Waits for brokers that are loading as long as the client waits for
// an answer. invalid_argument for a state that a broker does not know.
Task<Result<std::vector<ListedTransaction>>> list_transactions(ClusterClient& client, TransactionFilter filter);

// transactional_id_not_found if there is none. Errors of a coordinator that may soon be ready, or be another broker,
// are borne for as long as the client waits for an answer.
Task<Result<TransactionDescription>> describe_transaction(ClusterClient& client, std::string id);
// Several at once, which `coordinator` coordinates. Those that it does not describe are left out.
Task<Result<std::vector<TransactionDescription>>> describe_transactions(ClusterClient& client, BrokerId coordinator,
                                                                        std::vector<std::string> ids);

// Asks as a new producer of this id would: what is open is aborted, and whoever had the id cannot go on. Yields the
// new identity, once nothing is open any more; waits for that for as long as the client waits for an answer, and then
// fails with concurrent_transactions. An id that nobody knows is made by this.
Task<Result<ProducerIdentity>> fence_producer(ClusterClient& client, std::string id, Duration transaction_timeout);

}  // namespace naru::client
