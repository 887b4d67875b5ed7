// A round while it is put together and written: the bytes, and who has to be told when they are durable.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "commit_journal/journal_format.h"
#include "foundation/bytes.h"
#include "foundation/shared_bytes.h"
#include "log_storage/durability_service.h"
#include "log_storage/partition_log.h"

namespace naru {

constexpr uint64_t journal_entry_bytes(const StoredBatch& batch) {
  return kJournalEntryHeaderBytes + batch.size();
}

// Thread: whoever has it, one at a time.
class JournalRound {
 public:
  // `number` tells the rounds of a run apart; 0 for one that nothing is added to.
  explicit JournalRound(uint64_t number) { restart(number); }
  // Makes it empty; keeps the memory.
  void restart(uint64_t number);

  uint64_t bytes() const { return buffer_.size() + referenced_bytes_; }
  uint32_t entries() const { return entries_; }

  // Small batches are copied; of larger ones the request's memory is kept until restart().
  void add(const std::shared_ptr<DurableLog>& log, JournalTrack& track, const StoredBatch& batch, uint64_t truncations,
           Offset durable_before);

  // Fills in the header. Its bytes, entries and CRC are set here.
  void seal(JournalRoundHeader header);
  // What is to be written, up to the end of the last block. Valid until the next change.
  std::vector<BytesView> parts() const;

  // One for each log, or more where its batches do not follow each other.
  struct Completion {
    std::shared_ptr<DurableLog> log;
    JournaledRange range;
  };
  const std::vector<Completion>& completions() const { return completions_; }

 private:
  struct Reference {
    size_t behind;  // how much of the buffer comes before it
    SharedBytes bytes;
  };

  uint64_t number_ = 0;
  Bytes buffer_;
  std::vector<Reference> references_;
  uint64_t referenced_bytes_ = 0;
  uint32_t entries_ = 0;
  uint32_t entries_crc_ = 0;
  std::vector<Completion> completions_;
};

}  // namespace naru
