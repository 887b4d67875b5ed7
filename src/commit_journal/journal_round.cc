#include "commit_journal/journal_round.h"

#include "foundation/crc32c.h"

namespace naru {
namespace {

// Copying less than this is cheaper than another part of a gathered write.
constexpr size_t kReferencedBytes = 8192;
// What an idle journal keeps.
constexpr size_t kKeptBufferBytes = 1 << 20;

constexpr std::array<std::byte, kJournalBlock> kZeros{};

}  // namespace

void JournalRound::restart(uint64_t number) {
  number_ = number;
  if (buffer_.capacity() > kKeptBufferBytes) buffer_ = Bytes();
  buffer_.assign(kJournalRoundHeaderBytes, std::byte{0});
  references_.clear();
  referenced_bytes_ = 0;
  entries_ = 0;
  entries_crc_ = crc32c({});
  completions_.clear();
}

void JournalRound::add(const std::shared_ptr<DurableLog>& log, JournalTrack& track, const StoredBatch& batch,
                       uint64_t truncations, Offset durable_before) {
  const size_t at = buffer_.size();
  buffer_.resize(at + kJournalEntryHeaderBytes);
  encode_journal_entry_header({.log = log->id(),
                               .leader_epoch = batch.leader_epoch,
                               .base_offset = batch.base_offset,
                               .end_offset = batch.end_offset,
                               .truncations = truncations,
                               .durable_before = durable_before,
                               .batch_bytes = static_cast<uint32_t>(batch.size())},
                              buffer_.data() + at);
  append_bytes(buffer_, batch.header);
  entries_crc_ = crc32c_extend(entries_crc_, BytesView(buffer_).subspan(at));
  if (batch.records.size() < kReferencedBytes) {
    append_bytes(buffer_, batch.records.view());
  } else {
    references_.push_back({buffer_.size(), batch.records});
    referenced_bytes_ += batch.records.size();
  }
  ++entries_;

  if (track.last_round == number_) {
    JournaledRange& last = completions_[track.completion].range;
    if (last.end_offset == batch.base_offset && last.truncations == truncations) {
      last.end_offset = batch.end_offset;
      return;
    }
  }
  track.last_round = number_;
  track.completion = completions_.size();
  completions_.push_back({log, {batch.base_offset, batch.end_offset, truncations}});
}

void JournalRound::seal(JournalRoundHeader header) {
  header.bytes = static_cast<uint32_t>(bytes());
  header.entries = entries_;
  header.entries_crc = entries_crc_;
  encode_journal_round_header(header, buffer_.data());
}

std::vector<BytesView> JournalRound::parts() const {
  std::vector<BytesView> parts;
  parts.reserve(2 * references_.size() + 2);
  size_t from = 0;
  const auto copied_up_to = [&](size_t end) {
    if (end > from) parts.push_back(BytesView(buffer_).subspan(from, end - from));
    from = end;
  };
  for (const Reference& reference : references_) {
    copied_up_to(reference.behind);
    parts.push_back(reference.bytes.view());
  }
  copied_up_to(buffer_.size());
  // Whole blocks, so that the kernel need not read what it is about to overwrite.
  if (const uint64_t rest = round_up_to_blocks(bytes()) - bytes(); rest > 0) {
    parts.push_back(BytesView(kZeros).first(static_cast<size_t>(rest)));
  }
  return parts;
}

}  // namespace naru
