#include "commit_journal/journal_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "commit_journal/round_chain.h"
#include "foundation/crc32c.h"

namespace naru {
namespace {

constexpr size_t kWindowBytes = 1 << 20;
static_assert(kWindowBytes % kJournalBlock == 0);

Status damaged(const File& file, uint64_t place, std::string_view what) {
  return error(ErrorCode::corrupt_data,
               "{}: {} at position {}, although it was durable before. Batches that were acknowledged may be in it. "
               "Restore the file; or, to accept the loss of what only it holds, move it away and start again",
               file.path(), what, place);
}

class JournalReader {
 public:
  JournalReader(const std::shared_ptr<const File>& file, const JournalSlot& slot) : file_(file) {
    contents_.slot = slot;
  }

  Result<JournalContents> run() {
    NARU_TRY_ASSIGN(auto found, find_headers());
    RoundChain chain = chain_rounds(std::move(found));
    if (chain.missing) return failure(damaged(*file_, place_of(*chain.missing), "a round is missing or damaged"));
    for (size_t i = 0; i < chain.needed.size(); ++i) {
      NARU_TRY_ASSIGN(const bool whole, take_round(chain.needed[i]));
      if (whole) {
        ++contents_.rounds;
      } else if (i + 1 == chain.needed.size()) {
        contents_.torn_round = true;
      } else {
        return failure(damaged(*file_, place_of(chain.needed[i].position), "a damaged round"));
      }
    }
    return std::move(contents_);
  }

 private:
  uint64_t ring_bytes() const { return contents_.slot.ring_bytes; }
  uint64_t place_of(uint64_t position) const { return kJournalRingBegin + position % ring_bytes(); }

  Result<std::vector<JournalRoundHeader>> find_headers() {
    std::vector<JournalRoundHeader> found;
    Bytes window(kWindowBytes);
    for (uint64_t begin = 0; begin < ring_bytes(); begin += kWindowBytes) {
      const auto wanted =
          MutableBytesView(window).first(static_cast<size_t>(std::min<uint64_t>(kWindowBytes, ring_bytes() - begin)));
      NARU_TRY_ASSIGN(const size_t got, file_->read_at(kJournalRingBegin + begin, wanted));
      if (got != wanted.size()) {
        return failure(damaged(*file_, kJournalRingBegin + begin + got, "the file is shorter than it was, and ends"));
      }
      for (size_t at = 0; at < wanted.size(); at += kJournalBlock) {
        const auto header = decode_journal_round_header(BytesView(wanted).subspan(at, kJournalRoundHeaderBytes));
        if (header && belongs_here(*header, begin + at)) found.push_back(*header);
      }
    }
    return found;
  }

  bool belongs_here(const JournalRoundHeader& header, uint64_t place) const {
    return header.journal_id == contents_.slot.journal_id && header.position % ring_bytes() == place &&
           header.bytes >= kJournalRoundHeaderBytes && header.bytes <= ring_bytes() - place;
  }

  // Whether the round is complete; then its batches are part of the contents.
  Result<bool> take_round(const JournalRoundHeader& round) {
    buffer_.resize(round.bytes);
    NARU_TRY_ASSIGN(const size_t got, file_->read_at(place_of(round.position), buffer_));
    if (got != buffer_.size())
      return failure(ErrorCode::io_error, "{} became shorter while it was read", file_->path());
    std::vector<std::pair<LogId, JournaledBatch>> batches;
    uint32_t crc = crc32c({});
    size_t at = kJournalRoundHeaderBytes;
    for (uint32_t i = 0; i < round.entries; ++i) {
      const auto entry = check_entry(at, crc);
      if (!entry) return false;
      batches.emplace_back(entry->log,
                           JournaledBatch{.base_offset = entry->base_offset,
                                          .end_offset = entry->end_offset,
                                          .leader_epoch = entry->leader_epoch,
                                          .truncations = entry->truncations,
                                          .durable_before = entry->durable_before,
                                          .position = place_of(round.position) + at + kJournalEntryHeaderBytes,
                                          .bytes = entry->batch_bytes});
      at += kJournalEntryHeaderBytes + entry->batch_bytes;
    }
    if (at != buffer_.size() || crc != round.entries_crc) return false;
    for (auto& [log, batch] : batches) {
      JournaledBatches& journaled = contents_.logs[log];
      journaled.file = file_;
      journaled.batches.push_back(batch);
    }
    return true;
  }

  std::optional<JournalEntryHeader> check_entry(size_t at, uint32_t& crc) const {
    constexpr size_t kHeaders = kJournalEntryHeaderBytes + kBatchHeaderSize;
    if (buffer_.size() - at < kHeaders) return std::nullopt;
    crc = crc32c_extend(crc, BytesView(buffer_).subspan(at, kHeaders));
    const JournalEntryHeader entry = decode_journal_entry_header(buffer_.data() + at);
    at += kJournalEntryHeaderBytes;
    if (entry.batch_bytes < kBatchHeaderSize || buffer_.size() - at < entry.batch_bytes) return std::nullopt;
    const BytesView batch = BytesView(buffer_).subspan(at, entry.batch_bytes);
    const auto header = parse_batch_header(batch);
    const bool agrees = header && header->total_size == batch.size() && header->base_offset == entry.base_offset &&
                        header->next_offset() == entry.end_offset && header->leader_epoch == entry.leader_epoch &&
                        batch_crc_matches(batch);
    return agrees ? std::optional(entry) : std::nullopt;
  }

  const std::shared_ptr<const File> file_;
  JournalContents contents_;
  Bytes buffer_;
};

}  // namespace

Result<JournalSlot> read_journal_slot(const File& file) {
  std::optional<JournalSlot> newest;
  for (uint64_t i = 0; i < kJournalSlots; ++i) {
    JournalSlotBytes bytes{};
    NARU_TRY_ASSIGN(const size_t got, file.read_at(i * kJournalBlock, bytes));
    const auto decoded = decode_journal_slot(BytesView(bytes).first(got));
    if (!decoded) continue;
    if (decoded->version != kJournalFormatVersion) {
      return failure(ErrorCode::unsupported_format, "{} is of format {}, this Naru knows {}: start a newer version",
                     file.path(), decoded->version, kJournalFormatVersion);
    }
    if (!newest || decoded->slot.sequence > newest->sequence) newest = decoded->slot;
  }
  if (!newest) return failure(damaged(file, 0, "no valid header"));
  if (newest->ring_bytes == 0 || newest->ring_bytes % kJournalBlock != 0) {
    return failure(damaged(file, 0, "an impossible header"));
  }
  return *newest;
}

Result<JournalContents> read_journal(const std::shared_ptr<const File>& file) {
  NARU_TRY_ASSIGN(const JournalSlot slot, read_journal_slot(*file));
  return JournalReader(file, slot).run();
}

}  // namespace naru
