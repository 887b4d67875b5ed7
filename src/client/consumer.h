// Reads partitions from positions that the caller chooses and keeps. Without consumer groups: whoever consumes says
// which partitions.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "async/cancellation.h"
#include "async/task_group.h"
#include "client/cluster_client.h"
#include "client/offsets.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/records.h"

namespace naru::client {

struct ConsumerOptions {
  Isolation isolation = Isolation::read_uncommitted;
  Duration max_wait = 500ms;              // how long a broker may wait for records before it answers with none
  int32_t max_bytes = 16 << 20;           // of one answer
  int32_t partition_max_bytes = 1 << 20;  // of one partition in it; a larger first batch comes whole
};

struct FetchedPartition {
  TopicPartition partition;
  Offset position;  // that was asked for
  Status status;
  Offset log_start = kNoOffset;
  Offset high_watermark = kNoOffset;
  kafka::Records records;  // for visit_records(), and with it:
  std::vector<kafka::FetchResponse::AbortedTransaction> aborted = {};
};

// Thread: the client's event loop; one poll() at a time.
// A broker is asked again only when its last answer has been polled, so at most one answer per broker is held.
class Consumer {
 public:
  Consumer(ClusterClient& client, ConsumerOptions options) : client_(client), options_(options) {}
  // After close().
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Sets the position of a partition, and begins to read it if it was not read before.
  void seek(const TopicPartition& partition, Offset position) { positions_[partition] = position; }
  void remove(const TopicPartition& partition) { positions_.erase(partition); }
  const std::map<TopicPartition, Offset>& positions() const { return positions_; }

  // The answer of one broker: every partition that it was asked for, those without records too. The caller moves the
  // positions on. A retriable error has been prepared for (metadata is asked for anew, after a pause); polling on tries
  // again. cancelled when the token says so.
  Task<Result<std::vector<FetchedPartition>>> poll(CancelToken token);

  // Waits for what is in flight; close the client first to make that short. Once, and the last call.
  Task<void> close();

 private:
  struct Wanted {
    TopicPartition partition;
    Offset position;
    LeaderEpoch leader_epoch;
  };

  Task<Status> prepare_metadata();
  void start_fetches();
  Task<void> fetch(BrokerId leader, std::vector<Wanted> wanted);
  Task<std::vector<FetchedPartition>> ask(BrokerId leader, const std::vector<Wanted>& wanted);
  void note_errors(const std::vector<FetchedPartition>& answer);
  void wake();

  ClusterClient& client_;
  const ConsumerOptions options_;
  std::map<TopicPartition, Offset> positions_;
  std::set<BrokerId> asked_;  // an answer is due, or waits to be polled
  std::deque<std::pair<BrokerId, std::vector<FetchedPartition>>> answers_;
  OneShot<>* waiting_ = nullptr;
  bool metadata_is_old_ = true;
  bool pause_first_ = false;
  bool closed_ = false;
  TaskGroup tasks_;
};

}  // namespace naru::client
