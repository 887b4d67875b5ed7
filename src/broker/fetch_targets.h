// Reading partitions for a fetch, and the answer made of what was found: the same with and without a session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "broker/turns.h"
#include "cluster_control/metadata_image.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "network/file_pins.h"
#include "network/response.h"
#include "replication/partition.h"

namespace naru {

// A partition to be read, with what was found in it.
struct FetchTarget {
  std::string_view topic;  // as the answer names it; lives as long as the request or the session
  Uuid topic_id;
  PartitionIndex index{0};
  uint32_t slot = 0;  // in a session
  Offset offset{0};
  LeaderEpoch current_leader_epoch{-1};
  LeaderEpoch last_fetched_epoch{-1};
  Offset flushed_offset{-1};
  Offset log_start_offset{-1};    // of the follower that asks
  int64_t answered_question = 0;  // likewise
  uint32_t max_bytes = 0;
  std::shared_ptr<Partition> partition;  // none: view.status says why
  BrokerId nearer = kNoBroker;           // a replica where the consumer should read instead; then there are no records
  PartitionView view;
  Bytes copied;  // the records of the view, if they are not sent from the file

  bool failed() const { return !view.status.ok(); }
  bool diverges() const { return view.diverging.end_offset >= Offset(0); }
  // Whether there is data at the offset, in the view or not.
  bool more_to_read() const { return !failed() && !diverges() && nearer == kNoBroker && offset < view.readable_end; }
};

// Until listeners can tell brokers from clients, whoever fetches as a replica has to name a broker of the cluster, and
// its present life: what it says decides what is acknowledged.
enum class ReplicaStanding : uint8_t {
  stranger,     // not a broker of this cluster, or an earlier life of one
  unconfirmed,  // it was one, and lives since: its registration has ended, or the present one is not known here yet
  registered,
};

// A broker that fetches what it follows.
struct FetchingReplica {
  BrokerId id;
  int64_t broker_epoch = -1;
  ReplicaStanding standing = ReplicaStanding::stranger;
};
ReplicaStanding standing_of(const MetadataImage& image, BrokerId self, const FetchingReplica& replica);

// What a fetch asks for besides its partitions.
struct FetchTerms {
  std::optional<FetchingReplica> replica;  // none: a consumer
  bool leader_only = true;
  bool by_topic_id = false;
  bool accepts_zstd = true;
  uint64_t max_bytes = 0;
  uint64_t min_bytes = 0;
  size_t max_files = 0;  // to send from
  bool read_committed = false;
  // Of a replica: a moment at which it followed, as the leader's clock says. The least time: not known.
  MonotonicTime followed_at = MonotonicTime::min();
  std::string_view rack;  // of the consumer; empty: not known, or of no importance
  MonotonicTime deadline;

  Audience audience() const {
    if (replica) return Audience::followers;
    return read_committed ? Audience::committed_consumers : Audience::consumers;
  }
};
FetchTerms terms_of(const BrokerServices& services, const RequestContext& context, const kafka::FetchRequest& request);

// As in Kafka, a broker that fetches what it follows acts for the cluster; the right to read a topic is for consumers.
bool may_fetch(const Authorizer& authorizer, const Caller& caller, const FetchTerms& terms, std::string_view topic);
// Looks the partition up and asks the authorizer; a target that cannot be read has a status that says why.
void find_partition(const BrokerServices& services, const RequestContext& context, const FetchTerms& terms,
                    FetchTarget& target);

// What a fetch sends its records from: files that stay open until the client has taken them, or copies, where the
// client or all of them together keep too many open already.
struct FetchSources {
  FilePinLease files;
  bool copies = false;
};
FetchSources take_sources(const BrokerServices& services, const RequestContext& context, const FetchTerms& terms,
                          size_t targets);

// Reads all targets, in their order, within the terms and what the sources allow. Returns the number of bytes found;
// min_bytes at least, if there is more to read than fits into the answer.
Task<uint64_t> read_targets(const BrokerServices& services, const FetchTerms& terms, FetchSources& sources,
                            std::vector<FetchTarget>& targets, Turns& turns);

// Too little was found, and waiting may help.
bool should_wait(const FetchTerms& terms, const std::vector<FetchTarget>& targets, uint64_t found, MonotonicTime now);

// Data that was not read for long is not in memory, and sendfile would stop the whole loop until it is: it is read
// first. Copies what cannot be sent from files.
Task<void> prepare_records(const BrokerServices& services, const FetchSources& sources,
                           std::vector<FetchTarget>& targets);

// One topic per name, partitions in the order of `told`.
Task<Response> build_fetch_response(const BrokerServices& services, const RequestContext& context,
                                    const FetchTerms& terms, FetchSources sources, int32_t session_id,
                                    const std::vector<FetchTarget*>& told, Turns& turns);

}  // namespace naru
