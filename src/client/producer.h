// Sends records: collects them into batches, finds the leader of each partition, sends again what may be sent again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "client/cluster_client.h"
#include "client/partitioner.h"
#include "client/record_accumulator.h"
#include "foundation/function.h"

namespace naru::client {

struct ProducerOptions {
  int16_t acks = -1;  // -1: all in-sync replicas, 1: the leader, 0: no answer at all
  AccumulatorOptions batches;
  Duration topic_timeout = 5s;  // how long a topic may be unknown, or without leaders, before send() fails
  AutoCreate auto_create = AutoCreate::yes;
  bool idempotent = true;  // needs acks=-1; a broker that cannot do it is used without
};

// What became of one batch.
struct Delivery {
  TopicPartition partition;
  Offset base_offset = kNoOffset;  // none with acks=0, or when a broker had stored it before
  int32_t records = 0;
  size_t bytes = 0;
  Duration took{};  // since the first record was given
  Status status;
};

// Thread: the client's event loop. Records of one partition are stored in the order of send(). With acks=0 a record
// counts as delivered when it is handed to the connection. An idempotent producer stores every delivered batch once;
// without idempotence a retry may store a batch twice.
// Full: send() waits while `batches.buffer_bytes` are on their way.
class Producer {
 public:
  // `delivered` is called once per batch; it must not call back into the producer.
  Producer(ClusterClient& client, ProducerOptions options, UniqueFunction<void(const Delivery&)> delivered);
  // After close().
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Returns when the record is in a batch (copied); its fate is told by `delivered`. Without a partition the key
  // decides. An error means that this record was not taken.
  Task<Status> send(std::string topic, std::optional<PartitionIndex> partition, NewRecord record);

  // Sends everything now and returns when every batch has a fate.
  Task<void> flush();

  // What has no fate fails as cancelled; what is in flight is waited for. Once, and the last call.
  Task<void> close();

 private:
  using Batch = RecordAccumulator::Batch;
  using Batches = std::vector<Batch>;

  Task<Result<const TopicInfo*>> find_topic(const std::string& topic);
  const TopicInfo* usable_topic(const std::string& topic) const;
  Result<PartitionIndex> choose_partition(const TopicInfo& topic, std::optional<PartitionIndex> wanted,
                                          const NewRecord& record);

  // Whether batches may be sent, as far as their name is concerned; sees to it if not.
  bool has_identity();
  void renew_identity() { identity_ = Identity::wanted; }
  Task<void> obtain_identity();
  void give_up(const Status& status);

  void pump();
  void route(Batches batches);
  void arm_timer();
  Task<void> send_request(BrokerId leader, Batches batches);
  Task<void> refresh_metadata();
  void settle_all(Batches batches, const Status& status);
  void settle(Batch batch, const Status& status, Offset base_offset);
  bool is_refused_by_name(const ProducerBatch& batch, ErrorCode code) const;
  void succeed(Batch batch, Offset base_offset);
  void send_again(Batch batch, const Status& status);
  void fail(Batch batch, Status status);
  void report(const ProducerBatch& batch, Offset base_offset, Status status);
  void wake_waiters();

  ClusterClient& client_;
  const ProducerOptions options_;
  UniqueFunction<void(const Delivery&)> delivered_;
  RecordAccumulator accumulator_;
  std::map<std::string, StickyPartitioner> topics_;  // all that records were sent to
  TaskGroup tasks_;
  std::optional<std::pair<MonotonicTime, Scheduler::TimerId>> timer_;
  std::deque<OneShot<>*> waiting_for_room_;
  std::deque<OneShot<>*> waiting_for_flush_;
  enum class Identity : uint8_t { wanted, asked_for, settled };
  Identity identity_;
  Batches nameless_;  // refused because of their numbers: they get new ones with a new identity
  bool refreshing_ = false;
  bool pumping_ = false;
  bool closed_ = false;
};

}  // namespace naru::client
