// The part of Partition that keeps transactions apart: which batches may open one, and which markers may end one.
#include <utility>

#include "foundation/assert.h"
#include "replication/partition.h"

namespace naru {
namespace {

ProducerIdentity producer_of(const BatchHeader& header) {
  return {.id = header.producer_id, .epoch = header.producer_epoch};
}

}  // namespace

Result<VerificationGuard> Partition::begin_verification_inside(const BatchHeader& header) {
  if (Status status = why_not_leading(); !status.ok()) return failure(std::move(status));
  const ProducerState& known = log_->producers();
  // A gap in the sequences may be filled by the time this one is appended; an epoch that is over stays so.
  const SequenceCheck check = known.check(header);
  if (check.refused == ErrorCode::invalid_producer_epoch) return failure(check.refused);
  if (check.duplicate || known.in_transaction(producer_of(header))) return VerificationGuard{0};
  return guards_.begin(producer_of(header), header.base_sequence);
}

AppendTerms Partition::terms_of(const AppendRequest& request) const {
  if (!request.verified) return {.may_open = request.by_coordinator};
  return {.may_open = guards_.holds(producer_of(request.validated.header), request.verified->guard),
          .begins_at_zero = request.verified->implicit};
}

SequenceCheck Partition::check_producer(const AppendRequest& request) const {
  const BatchHeader& header = request.validated.header;
  if (!header.is_transactional()) return log_->check_sequence(header);
  SequenceCheck check = log_->check_sequence(header, terms_of(request));
  if (!check.refused.ok() || check.duplicate) return check;
  const ProducerIdentity producer = producer_of(header);
  const Producer* known = log_->producers().find(producer.id);
  const bool may_begin_anywhere = known == nullptr || (known->epoch == producer.epoch && known->batch_count == 0);
  if (request.connection != 0 && guards_.comes_late(producer, request.connection)) {
    // The client has given up that connection, and with it the batch, perhaps together with its transaction.
    check.refused =
        error(ErrorCode::invalid_txn_state, "producer {} has sent later batches on a newer connection", producer.id);
  } else if (may_begin_anywhere && guards_.comes_too_early(producer, header.base_sequence)) {
    check.refused = error(ErrorCode::out_of_order_sequence_number,
                          "producer {} has a batch before sequence {} that is still being verified", producer.id,
                          header.base_sequence);
  }
  return check;
}

void Partition::note_transactional(const AppendRequest& request) {
  const ProducerIdentity producer = producer_of(request.validated.header);
  if (request.connection != 0) guards_.appended(producer, request.connection);
  if (log_->producers().in_transaction(producer)) return;
  guards_.opened(producer, request.verified ? request.verified->number : kNoTransactionNumber);
}

// The transaction that is open was confirmed under another number: the one that the marker is for has ended before.
bool Partition::is_late(const MarkerRequest& request) const {
  const Producer* known = log_->producers().find(request.producer.id);
  if (known == nullptr || !known->in_transaction()) return false;
  const TransactionNumber open = guards_.number(request.producer.id);
  return open != kNoTransactionNumber && request.number != kNoTransactionNumber && open != request.number;
}

Result<MarkerAction> Partition::check_marker_inside(const MarkerRequest& request) const {
  if (Status status = why_not_appending(request.leader_epoch, Acks::all_in_sync); !status.ok()) {
    return failure(std::move(status));
  }
  if (is_late(request)) return MarkerAction::nothing;
  return log_->producers().check_marker(request.producer, request.marker, request.transaction_version);
}

void Partition::append_marker(const MarkerRequest& request, std::shared_ptr<AppendGroup> group, size_t slot) {
  strand_.run([self = shared_from_this(), request, group = std::move(group), slot] {
    self->append_marker_inside(request, group, slot);
  });
}

void Partition::append_marker_inside(const MarkerRequest& request, const std::shared_ptr<AppendGroup>& group,
                                     size_t slot) {
  const auto action = check_marker_inside(request);
  if (!action) return group->finish(slot, {.status = action.error()});
  if (!is_late(request)) guards_.ended(request.producer.id);
  if (*action == MarkerAction::nothing) return acknowledge_marker(request.producer.id, group, slot);
  const SharedBytes batch(build_marker_batch(request.producer, request.marker, services_.clock.wall_now_ms()));
  const auto header = parse_batch_header(batch.view());
  NARU_ASSERT(header.has_value(), "a marker that is no batch");
  const ValidatedBatch validated{.header = *header,
                                 .timestamp = {TimestampType::create_time, header->max_timestamp},
                                 .uncompressed_size = batch.size() - kBatchHeaderSize};
  store(batch, validated, Acks::all_in_sync, group, slot);
}

// What the answer relies on may not be committed yet: the marker of which this is a repetition.
void Partition::acknowledge_marker(ProducerId producer, const std::shared_ptr<AppendGroup>& group, size_t slot) {
  const Producer* known = log_->producers().find(producer);
  const Offset end = known == nullptr ? Offset(0) : known->last_marker + 1;
  AppendResult result{.log_start_offset = common_start()};
  if (acknowledge_when_due(end, Acks::all_in_sync, group, slot, std::move(result))) return;
  if (config_.acknowledges_after_sync()) services_.durability.make_durable(shared_from_this(), end);
}

}  // namespace naru
