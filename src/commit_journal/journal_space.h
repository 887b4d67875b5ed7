// Which space of the ring may be written, and which must be kept: a core without I/O.
//
// Every log with batches in the journal that its own files do not hold pins the ring from the oldest such batch on;
// `tail()` is the oldest of all. A crash may take away any part of the round that is being written, its header too.
// Then the round before tells how far back the journal is needed. So a round overwrites only what the last durable
// round has given up, not what has become free since. When that is too little, a round without batches (a mark) gives
// up more.
//
// Thread: none; the journal's lock guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "commit_journal/journal_format.h"
#include "log_storage/durability_service.h"

namespace naru {

class JournalSpace {
 public:
  // `ring_bytes` is a multiple of the block.
  explicit JournalSpace(uint64_t ring_bytes) : ring_bytes_(ring_bytes) {}

  uint64_t ring_bytes() const { return ring_bytes_; }
  // Where the next round goes, if nothing has to be skipped at the end of the ring.
  uint64_t head() const { return head_; }
  uint64_t tail() const { return pins_.empty() ? head_ : pins_.begin()->first; }
  uint64_t used() const { return head_ - tail(); }

  // --- Rounds, one at a time ---------------------------------------------------------------------------------------
  struct Place {
    uint64_t sequence;
    uint64_t position;
    uint64_t previous_position;
    uint64_t tail;
  };
  // Where a round of `bytes` may be written now; nothing when there is no room.
  std::optional<Place> place(uint64_t bytes) const { return find_place(bytes, head_, recorded_tail_, kReserve); }
  // Whether there would be room behind a mark; and the mark's place, for which there always is.
  bool mark_would_help(uint64_t bytes) const;
  Place place_of_mark() const;
  // The round is durable.
  void committed(const Place& place, uint64_t bytes);

  // --- Logs --------------------------------------------------------------------------------------------------------
  // A batch of this log will be in a round that is not placed yet.
  void added(JournalTrack& log, Offset end, uint64_t truncations);
  // A sync of the log's files has begun: everything added before will be covered.
  uint64_t sync_begins() const { return head_; }
  // It ended well: the files hold everything below `synced_end`.
  void synced(JournalTrack& log, uint64_t sync_begun_at, Offset synced_end, uint64_t truncations);
  // Nothing of the log is needed any more.
  void forget(JournalTrack& log);

  // The logs that pin something before `position`, those that pin the most first.
  std::vector<uint64_t> pinning_before(uint64_t position) const;

 private:
  // Room for the next mark. One is enough: a mark is only written when that makes room for more than itself.
  static constexpr uint64_t kReserve = kJournalBlock;

  std::optional<Place> find_place(uint64_t bytes, uint64_t head, uint64_t kept_from, uint64_t reserve) const;
  void pin(JournalTrack& log, uint64_t position);

  const uint64_t ring_bytes_;
  uint64_t head_ = 0;
  uint64_t recorded_tail_ = 0;  // that of the last durable round
  uint64_t next_sequence_ = 1;
  uint64_t previous_position_ = kNoJournalPosition;
  uint64_t next_number_ = 1;
  std::set<std::pair<uint64_t, uint64_t>> pins_;  // first position, number of the log
};

}  // namespace naru
