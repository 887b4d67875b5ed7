#include "replication/replicated_batches.h"

#include <algorithm>
#include <utility>

#include "record_format/batch_rewriter.h"

namespace naru {
namespace {

Result<ReplicatedBatch> check_first_bytes(const SharedBytes& rest, LeaderEpoch leader_epoch) {
  NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(rest.view()));
  if (header.total_size > rest.size()) {
    return failure(ErrorCode::corrupt_message, "the batch at offset {} has {} bytes, {} are there", header.base_offset,
                   header.total_size, rest.size());
  }
  SharedBytes bytes = rest.slice(0, header.total_size);
  if (!batch_crc_matches(bytes.view())) {
    return failure(ErrorCode::corrupt_message, "the CRC of the batch at offset {} does not match", header.base_offset);
  }
  if (header.leader_epoch < LeaderEpoch(0) || header.leader_epoch > leader_epoch) {
    return failure(ErrorCode::corrupt_message, "the batch at offset {} has leader epoch {}, its sender {}",
                   header.base_offset, header.leader_epoch, leader_epoch);
  }
  return ReplicatedBatch{std::move(bytes), header};
}

// The part of a filler that begins at `from`.
Result<ReplicatedBatch> rest_of_filler(const BatchHeader& filler, Offset from) {
  Bytes bytes = make_filler_batch(from, filler.next_offset(), filler.leader_epoch);
  NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(bytes));
  return ReplicatedBatch{SharedBytes(std::move(bytes)), header};
}

}  // namespace

Result<std::vector<ReplicatedBatch>> check_replicated_batches(const SharedBytes& bytes, Offset from,
                                                              LeaderEpoch leader_epoch) {
  std::vector<ReplicatedBatch> batches;
  Offset expected = from;
  LeaderEpoch epoch{0};
  for (SharedBytes rest = bytes; rest.size() > 0;) {
    NARU_TRY_ASSIGN(ReplicatedBatch batch, check_first_bytes(rest, leader_epoch));
    const size_t size = batch.header.total_size;
    const bool straddles = batches.empty() && batch.header.base_offset < from && batch.header.next_offset() > from;
    if (straddles && is_filler(batch.header)) {
      NARU_TRY_ASSIGN(batch, rest_of_filler(batch.header, from));
    } else if (straddles) {
      expected = batch.header.base_offset;
    }
    if (batch.header.base_offset != expected || batch.header.leader_epoch < epoch) {
      return failure(ErrorCode::corrupt_message, "a batch at offset {}, epoch {}, behind offset {}, epoch {}",
                     batch.header.base_offset, batch.header.leader_epoch, expected, epoch);
    }
    expected = batch.header.next_offset();
    epoch = batch.header.leader_epoch;
    batches.push_back(std::move(batch));
    rest = rest.slice(size, rest.size() - size);
  }
  return batches;
}

}  // namespace naru
