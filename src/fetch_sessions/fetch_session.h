// A fetch session (KIP-227): the partitions that one client reads, so that its requests and the answers only carry what
// changed. An I/O-free core.
//
// A partition is *due* when looking at it may tell the client something: it is new, the client said something about it,
// there is data at its offset, it had an error, or there was news of it. All others are left alone, so a fetch costs as
// much as there is to tell and not as much as the session is large. Due partitions stand in a queue; one whose records
// were sent goes to its end, so that none starves while the answers are full.
//
// What the client knows changes in commit() only, which comes with the answer: an answer that is not given tells
// nothing.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "foundation/uuid.h"

namespace naru {

// What the client said last about a partition.
struct FetchPosition {
  Offset fetch_offset{0};
  LeaderEpoch current_leader_epoch{-1};
  int32_t max_bytes = 0;
  LeaderEpoch last_fetched_epoch{-1};  // these four are said by followers
  Offset flushed_offset{-1};
  Offset log_start_offset{-1};
  int64_t answered_question = 0;
};

// What was found in a partition.
struct FetchSeen {
  ErrorCode error = ErrorCode::none;
  Offset high_watermark{-1};
  Offset log_start_offset{-1};
  bool diverges = false;      // the follower's log is another one
  bool elsewhere = false;     // the client should read from another replica
  bool asks = false;          // the follower something
  bool has_records = false;   // in the answer
  bool more_to_read = false;  // there is data at the fetch offset, in the answer or not
};

// One thread at a time.
class FetchSession {
 public:
  using Slot = uint32_t;  // names a partition while it is in the session

  static constexpr int32_t kNoSession = 0;     // session ids
  static constexpr int32_t kInitialEpoch = 0;  // "a new session, please"
  static constexpr int32_t kFinalEpoch = -1;   // "no session, or no longer"
  // 1, 2, ... and after the largest number 1 again.
  static int32_t epoch_after(int32_t epoch);

  // Topics are named by id or by name; a session does not change from one to the other.
  explicit FetchSession(bool by_topic_id, int32_t first_epoch = 1)
      : by_topic_id_(by_topic_id), next_epoch_(first_epoch) {}

  // A request of this epoch: none, and the next one is expected from now on; or what to refuse it with.
  ErrorCode accept(int32_t epoch, bool by_topic_id);

  // Adds a partition or changes what the client wants of it. It is due.
  Slot put(std::string_view topic, const Uuid& topic_id, PartitionIndex index, const FetchPosition& position);
  // Where it was; nothing if it is not in the session.
  std::optional<Slot> forget(std::string_view topic, const Uuid& topic_id, PartitionIndex index);

  bool empty() const { return partitions_ == 0; }
  size_t partitions() const { return partitions_; }
  size_t topics() const { return topics_.size(); }
  // One more than the largest slot so far.
  size_t slots() const { return entries_.size(); }

  struct Place {
    std::string_view topic;  // empty in a session by id; valid until the topic's last partition is forgotten
    Uuid topic_id;
    PartitionIndex index{0};
    FetchPosition position;
  };
  Place place(Slot slot) const;

  // There is news of the partition. Ignores slots that are not in use: news may come late.
  void news(Slot slot);
  const std::list<Slot>& due() const { return due_; }

  // Whether the client has to be told.
  bool must_tell(Slot slot, const FetchSeen& seen) const;
  // Whether the client was told another start of the log before.
  bool has_other_start(Slot slot, Offset log_start) const;

  struct Look {
    Slot slot = 0;
    FetchSeen seen;
  };
  // The answer says what must be told of these, which are all that are due.
  void commit(std::span<const Look> looks);

 private:
  struct Topic {
    std::string name;
    Uuid id;
    std::map<PartitionIndex, Slot> partitions;
  };
  using TopicKey = std::pair<std::string, Uuid>;

  struct Entry {
    Topic* topic = nullptr;  // null: not in use
    PartitionIndex index{0};
    FetchPosition position;
    bool due = false;
    std::list<Slot>::iterator place_in_queue;  // of one that is due
    // What the client was told; -1 makes the next look worth telling.
    Offset told_high_watermark{-1};
    Offset told_log_start_offset{-1};
  };

  TopicKey key_of(std::string_view topic, const Uuid& topic_id) const;
  Slot new_slot();
  void make_due(Slot slot);

  const bool by_topic_id_;
  int32_t next_epoch_;
  std::map<TopicKey, Topic> topics_;  // node-based: entries point to topics
  std::vector<Entry> entries_;
  std::vector<Slot> free_slots_;
  std::list<Slot> due_;  // a client may forget all of them, in any order
  size_t partitions_ = 0;
};

}  // namespace naru
