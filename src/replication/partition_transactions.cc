// The part of Partition that keeps transactions apart: which batches may open one, and which markers may end one.
#include <utility>

#include "foundation/assert.h"
#include "replication/partition.h"

namespace naru {
namespace {

ProducerIdentity producer_of(const BatchHeader& header) {
  return {.id = header.producer_id, .epoch = header.producer_epoch};
}

class RefusedMarker final : public AckWaiter {
 public:
  RefusedMarker(Status refused, std::shared_ptr<AppendGroup> group, size_t slot)
      : refused_(std::move(refused)), group_(std::move(group)), slot_(slot) {}
  void acknowledged(const Status& status) override {
    group_->finish(slot_, {.status = status.ok() ? refused_ : status});
  }

 private:
  const Status refused_;
  const std::shared_ptr<AppendGroup> group_;
  const size_t slot_;
};

}  // namespace

Result<VerificationGuard> Partition::begin_verification_inside(const BatchHeader& header) {
  if (Status status = why_not_leading(); !status.ok()) return failure(std::move(status));
  const ProducerState& known = log_->producers();
  // A gap in the sequences may be filled by the time this one is appended; an epoch that is over stays so.
  const SequenceCheck check = known.check(header);
  if (check.refused == ErrorCode::invalid_producer_epoch) return failure(check.refused);
  if (known.in_transaction(producer_of(header))) return VerificationGuard{0};
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
  if (request.verified && is_outdated(producer, *request.verified)) {
    // A retriable code that leads to no other leader: the next question may find the coordinator of now.
    check.refused =
        error(ErrorCode::not_enough_replicas,
              "the transaction of producer {} was confirmed by a coordinator that was replaced", producer.id);
    return check;
  }
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

// Whoever has said so did not know how the transaction has ended here. The batch opens another one, or nothing at all.
bool Partition::is_outdated(const ProducerIdentity& producer, const TransactionVerdict& verdict) const {
  if (log_->producers().in_transaction(producer)) return false;
  const Producer* known = log_->producers().find(producer.id);
  const bool was_replaced =
      known != nullptr && verdict.coordinator_epoch >= 0 && verdict.coordinator_epoch < known->coordinator_epoch;
  return was_replaced || guards_.has_ended(producer.id, verdict.number);
}

void Partition::note_transactional(const AppendRequest& request) {
  const ProducerIdentity producer = producer_of(request.validated.header);
  if (request.connection != 0) guards_.appended(producer, request.connection);
  if (log_->producers().in_transaction(producer)) return;
  guards_.opened(producer, request.verified ? request.verified->number : kNoTransactionNumber);
}

// The transaction that is open was confirmed under a later number, or begun after the marker had come: the one that the
// marker is for has ended before. A marker with a later one ends what is open, whatever has become of the markers that
// should have.
bool Partition::is_late(const MarkerRequest& request) const {
  const Producer* known = log_->producers().find(request.producer.id);
  if (known == nullptr || !known->in_transaction()) return false;
  if (request.number == kNoTransactionNumber) return false;
  return request.number < guards_.number(request.producer.id) || guards_.has_ended(request.producer.id, request.number);
}

Result<MarkerAction> Partition::check_marker_inside(const MarkerRequest& request) const {
  if (Status status = why_not_appending(request.leader_epoch, Acks::all_in_sync); !status.ok()) {
    return failure(std::move(status));
  }
  if (is_late(request)) return MarkerAction::nothing;
  NARU_TRY_ASSIGN(const MarkerAction action,
                  log_->producers().check_marker(request.producer, request.marker, request.transaction_version));
  // That no transaction is open is not for a leader alone to say: another one may have been elected, and have it open.
  // So the marker is appended, which needs the followers, unless this reign has done so already.
  return guards_.has_ended(request.producer.id, request.number) ? action : MarkerAction::append;
}

void Partition::append_marker(const MarkerRequest& request, std::shared_ptr<AppendGroup> group, size_t slot) {
  strand_.run([self = shared_from_this(), request, group = std::move(group), slot] {
    self->append_marker_inside(request, group, slot);
  });
}

void Partition::append_marker_inside(const MarkerRequest& request, const std::shared_ptr<AppendGroup>& group,
                                     size_t slot) {
  const auto action = check_marker_inside(request);
  if (!action) return refuse_marker(action.error(), group, slot);
  if (*action == MarkerAction::nothing) return acknowledge_marker(request.producer.id, group, slot);
  const SharedBytes batch(build_marker_batch(request.producer, request.marker, services_.clock.wall_now_ms()));
  const auto header = parse_batch_header(batch.view());
  NARU_ASSERT(header.has_value(), "a marker that is no batch");
  const ValidatedBatch validated{.header = *header,
                                 .timestamp = {TimestampType::create_time, header->max_timestamp},
                                 .uncompressed_size = batch.size() - kBatchHeaderSize};
  if (store(batch, validated, Acks::all_in_sync, group, slot)) {
    guards_.ended(request.producer, request.number, request.transaction_version);
  }
}

void Partition::check_marker(const MarkerRequest& request, std::shared_ptr<AppendGroup> group, size_t slot) {
  strand_.run([self = shared_from_this(), request, group = std::move(group), slot] {
    const auto action = self->check_marker_inside(request);
    if (action) return group->finish(slot, {});
    self->refuse_marker(action.error(), group, slot);
  });
}

// A later epoch than the marker's shows that its transaction is over: its coordinator may rely on that, so it is not
// said before that epoch, and whatever has ended the transaction, is committed.
void Partition::refuse_marker(const Status& refused, const std::shared_ptr<AppendGroup>& group, size_t slot) {
  const auto waiter = std::make_shared<RefusedMarker>(refused, group, slot);
  const Offset end = log_->end_offset();
  const bool is_final = refused == ErrorCode::invalid_producer_epoch;
  const auto verdict = is_final ? leader_->verdict(end, Acks::all_in_sync) : Status();
  if (verdict) return waiter->acknowledged(*verdict);
  leader_->wait_for(end, Acks::all_in_sync, waiter);
  if (config_.acknowledges_after_sync()) services_.durability.make_durable(shared_from_this(), end);
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
