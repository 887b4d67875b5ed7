// Fetches everything that this broker follows from one leader: one connection, one session, one coroutine.
//
//     news: partitions that came, went, grew, or became durable
//        -> Fetch with what changed -> the answer, partition by partition, into the logs -> again
//
// While data keeps coming it fetches ahead of its syncs. When nothing more came and syncs are outstanding, it waits for
// one of them, so that the leader hears at once what is durable here; only when the leader knows everything does the
// fetch wait there. A partition that the leader refuses, or that cannot be stored, rests for a while without keeping
// the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "async/cancellation.h"
#include "async/task.h"
#include "async/task_group.h"
#include "async/wakeup.h"
#include "client/broker_connection.h"
#include "configuration/broker_config.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/naru_producers_response.h"
#include "observability/metrics_registry.h"
#include "platform/seams.h"
#include "replication/partition.h"

namespace naru {

// A partition with its leader, as the metadata says.
struct FollowedPartition {
  std::shared_ptr<Partition> partition;
  BrokerId leader;
  int64_t leader_broker_epoch = -1;
  Endpoint leader_address;
  LeaderEpoch leader_epoch;
  bool in_sync = true;  // this broker, in the eyes of the controller

  bool operator==(const FollowedPartition&) const = default;
};

using PartitionKey = std::pair<Uuid, PartitionIndex>;

// What is followed from now on in another way, or not any more. When a leader has another address or broker epoch, all
// that it leads is among them.
struct FollowChanges {
  std::vector<FollowedPartition> changed;
  std::vector<PartitionKey> dropped;
};

struct ReplicaFetcherParts {
  Seams seams;
  const ReplicationConfig& config;
  BrokerId self;
  UniqueFunction<int64_t() const> broker_epoch;  // of this broker, as it is registered now; any thread
  Counter& fetched_bytes;
  Counter& failures;
};

// Thread-safe: change_partitions(), stop(), max_lag(). The rest belongs to its coroutine.
class ReplicaFetcher final : public std::enable_shared_from_this<ReplicaFetcher> {
 public:
  struct Leader {
    BrokerId id;
    int64_t broker_epoch = -1;
    Endpoint address;
    bool operator==(const Leader&) const = default;
  };
  // `parts` and `tasks` outlive the coroutine.
  ReplicaFetcher(const ReplicaFetcherParts& parts, Leader leader, TaskGroup& tasks);
  ~ReplicaFetcher();

  const Leader& leader() const { return leader_; }

  void start();
  // What is new is fetched at once, also if a fetch waits at the leader.
  void change_partitions(const FollowChanges& changes);
  // The coroutine ends soon, whatever the leader does: what it was asked is not waited for.
  void stop();
  // Records that the partition that is furthest behind lacks, of those that are committed; as of the last answers.
  int64_t max_lag();

 private:
  using Self = std::shared_ptr<ReplicaFetcher>;
  using Key = PartitionKey;
  class Entry;
  using EntryPtr = std::shared_ptr<Entry>;
  // Between two times that the leader is told of what this broker is not in sync with.
  static constexpr Duration kReminderInterval = 5s;
  // After the first failure; then twice as long each time, up to replica.fetch.backoff.ms.
  static constexpr Duration kFirstPause = 20ms;
  // For an answer, beyond the wait that was asked for.
  static constexpr Duration kAnswerPatience = 30s;

  static Key key_of(const Partition& partition) { return {partition.identity().topic_id, partition.identity().index}; }

  // Under the lock.
  bool has_news() const { return urgent_ || !news_.empty() || !wanted_changes_.empty(); }
  void add_news(EntryPtr entry);
  void wake(std::unique_lock<std::mutex> lock);
  static Task<void> cut(std::shared_ptr<client::BrokerConnection> connection);

  Task<void> run(Self self);
  Task<Status> connect();
  Task<void> disconnect();
  Task<Status> fetch_once();
  void take_news();
  void take_wanted(const Key& key);
  void remind_of_those_out_of_sync();
  bool is_followed(const Entry& entry) const;
  void make_dirty(const EntryPtr& entry);
  void leave_session(Entry& entry);
  Milliseconds wait_at_leader(Milliseconds longest) const;
  Task<void> stop_waiting_for_syncs();
  Milliseconds until_next_try() const;
  Task<bool> rest(Duration longest);
  Task<bool> fill_request(kafka::FetchRequest& request);
  Task<bool> position(EntryPtr entry);
  // Asks for what lacking_ lack. They have something to tell afterwards.
  Task<Status> bring_producers();
  Task<Status> bring_producers(std::vector<EntryPtr> entries);
  Task<void> begin_with_producers(EntryPtr entry, const kafka::NaruProducersResponse::LedPartition& told);
  static void add(kafka::FetchRequest& request, Entry& entry, int32_t max_bytes);
  static void forget(kafka::FetchRequest& request, const Key& key);
  bool begin_wait(kafka::FetchRequest& request);
  void end_wait();
  Task<Status> take_answer(std::shared_ptr<const kafka::FetchResponse> response);
  Task<void> apply(EntryPtr entry, const kafka::FetchResponse::PartitionData& answer, SharedBytes records);
  void retry_later(Entry& entry, const Status& problem);
  void reset_session();
  void begin_session_of_this_life();

  const ReplicaFetcherParts& parts_;
  const Leader leader_;
  TaskGroup& tasks_;

  std::mutex mutex_;  // guards what follows, down to the blank line; held for a few instructions
  std::map<Key, EntryPtr> wanted_;
  std::vector<Key> wanted_changes_;
  std::map<Key, EntryPtr> out_of_sync_;  // of the wanted ones
  std::vector<EntryPtr> news_;
  bool urgent_ = false;  // something has to be fetched that no fetch was sent for
  bool waits_at_leader_ = false;
  bool stopped_ = false;
  std::shared_ptr<Wakeup> sleeper_;
  std::shared_ptr<client::BrokerConnection> connection_;

  CancelSource stop_source_;         // cancelled when stopped_
  std::map<Key, EntryPtr> entries_;  // as of the last take_news()
  std::vector<EntryPtr> dirty_;      // have something to tell or to ask
  std::vector<EntryPtr> syncing_;    // hold something that is not durable, and the leader waits for that
  std::vector<EntryPtr> lacking_;    // begin anew, and do not know the producers yet
  bool leader_tells_producers_ = true;
  std::vector<Key> removed_;  // the leader's session still holds them
  size_t in_session_ = 0;
  bool syncs_are_slow_ = false;  // a wait for them was in vain: until there are none
  MonotonicTime sync_again_;     // then
  MonotonicTime next_reminder_;
  int64_t broker_epoch_ = -1;  // the session's
  int32_t session_id_ = 0;
  int32_t session_epoch_ = 0;
  bool answer_had_data_ = false;
};

}  // namespace naru
