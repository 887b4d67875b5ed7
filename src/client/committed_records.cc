#include "client/committed_records.h"

#include <algorithm>
#include <set>

#include "record_format/record_batch.h"
#include "record_format/transaction_marker.h"

namespace naru::client {
namespace {

using Aborted = kafka::FetchResponse::AbortedTransaction;

// Whose batches are to be passed over, at one place in the log.
class AbortedProducers {
 public:
  explicit AbortedProducers(std::span<const Aborted> aborted) : later_(aborted.begin(), aborted.end()) {
    std::ranges::sort(later_, std::greater(), &Aborted::first_offset);
  }

  // Batches come in the order of the log.
  bool passes_over(const BatchHeader& header, BytesView batch) {
    while (!later_.empty() && later_.back().first_offset <= header.last_offset()) {
      now_.insert(later_.back().producer_id);
      later_.pop_back();
    }
    if (!header.is_control()) return header.is_transactional() && now_.contains(header.producer_id);
    const auto marker = parse_marker_batch(batch);
    if (marker && marker->result == TransactionResult::abort) now_.erase(header.producer_id);
    return true;
  }

 private:
  std::vector<Aborted> later_;  // the next one is the last
  std::set<ProducerId> now_;
};

}  // namespace

Result<CommittedLook> look_for_committed(BytesView batches, Offset from, std::span<const Aborted> aborted) {
  AbortedProducers producers(aborted);
  bool first = true;
  for (; !batches.empty(); first = false) {
    const auto size = parse_batch_size(batches);
    if (!first && (!size || *size > batches.size())) break;  // the next fetch has it whole
    const auto header = parse_batch_header(batches);
    if (!header || header->total_size > batches.size() || !batch_crc_matches(batches.first(header->total_size))) {
      return failure(ErrorCode::corrupt_message, "the broker sent a batch behind offset {} that is damaged", from);
    }
    const bool passed_over = producers.passes_over(*header, batches.first(header->total_size));
    if (!passed_over && header->next_offset() > from && header->records_count > 0) return CommittedLook{true, from};
    from = std::max(from, header->next_offset());
    batches = batches.subspan(header->total_size);
  }
  return CommittedLook{false, from};
}

}  // namespace naru::client
