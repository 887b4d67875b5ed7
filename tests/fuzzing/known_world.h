// What a client of the fuzzed brokers has learned from their answers: the interesting values of the next requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster_control/metadata_feed.h"
#include "foundation/ids.h"
#include "foundation/uuid.h"
#include "platform/random.h"

namespace naru::fuzzing {

struct KnownMember {
  std::string id;
  int32_t epoch = -1;  // its generation, or its own epoch; -1: it has to join
  std::optional<std::string> instance_id;
  bool is_leader = false;
  bool has_assignment = false;
};

struct KnownGroup {
  enum class Kind : uint8_t { classic, consumer, simple };  // simple: offsets without members

  std::string id;
  Kind kind = Kind::classic;
  std::vector<KnownMember> members;
  BrokerId coordinator = kNoBroker;
  bool has_offsets = false;

  KnownMember* find(std::string_view member_id);
  void forget(std::string_view member_id);
};

struct KnownTransaction {
  std::string id;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch{-1};
  BrokerId coordinator = kNoBroker;
  bool open = false;
};

struct KnownSession {
  int32_t id = 0;
  int32_t next_epoch = 0;
  BrokerId broker = kNoBroker;
  bool by_ids = false;  // its topics have ids, not names
};

// One thread. Pointers to groups and transactions stay valid; those to topics until the next answer is learned from.
class KnownWorld {
 public:
  KnownWorld();

  const MetadataImage& image() const { return *follower_.image(); }
  MetadataFollower& follower() { return follower_; }
  BrokerId controller() const { return image().cluster().controller_id; }
  int64_t broker_epoch(BrokerId id) const;

  std::vector<KnownGroup>& groups() { return groups_; }
  std::vector<KnownTransaction>& transactions() { return transactions_; }
  std::vector<KnownSession>& sessions() { return sessions_; }
  KnownGroup* find_group(std::string_view id);
  KnownTransaction* find_transaction(std::string_view id);
  KnownTransaction* find_transaction(ProducerId id);

  // Producers without transactions, as (id, epoch).
  std::vector<std::pair<ProducerId, ProducerEpoch>>& producers() { return producers_; }
  void remember_producer(ProducerId id, ProducerEpoch epoch);

  // Brokers have said that they hold so many bytes of metadata with the group's offsets of the topic.
  void remember_offsets(std::string_view group_id, const Uuid& topic, uint64_t bytes);
  uint64_t offset_bytes() const { return offset_bytes_; }
  // Nothing is left of topics that are gone.
  void forget_offsets_of_deleted_topics();

  using PartitionKey = std::pair<std::string, int32_t>;
  Offset& end_of(const PartitionKey& partition) { return ends_[partition]; }
  // The sequence number that a producer's next batch for the partition has.
  int32_t& next_sequence(ProducerId id, ProducerEpoch epoch, const PartitionKey& partition) {
    return sequences_[{id, epoch, partition}];
  }

 private:
  MetadataFollower follower_;
  std::vector<KnownGroup> groups_;
  std::vector<KnownTransaction> transactions_;
  std::vector<KnownSession> sessions_;
  std::vector<std::pair<ProducerId, ProducerEpoch>> producers_;
  std::map<std::pair<std::string, Uuid>, uint64_t> offsets_;
  uint64_t offset_bytes_ = 0;
  std::map<PartitionKey, Offset> ends_;
  std::map<std::tuple<ProducerId, ProducerEpoch, PartitionKey>, int32_t> sequences_;
};

// One of them; there must be one.
template <class T>
T& any_of(Random& random, std::vector<T>& values) {
  return values[random.below(values.size())];
}

}  // namespace naru::fuzzing
