// Offsets in transactions: committed in a group, and not to be seen before the marker of the transaction.
#include <map>
#include <utility>

#include "consumer_groups/classic/classic_requests.h"
#include "consumer_groups/group_coordinator.h"
#include "consumer_groups/offsets/group_offsets.h"
#include "foundation/assert.h"

namespace naru {

Status GroupCoordinator::apply_pending(const ProducerIdentity& producer, BytesView key,
                                       std::optional<BytesView> value) {
  NARU_TRY_ASSIGN(const int16_t type, group_record_type(key));
  if (type != kOffsetKeyType) {
    return error(ErrorCode::corrupt_data, "a record of type {} inside of a transaction", type);
  }
  NARU_TRY(store_.apply_pending(producer, key, value));
  NARU_TRY_ASSIGN(const TransactionNumber number, decode_transaction_number(value.value_or(BytesView())));
  producers_.apply_pending(producer, number);
  return {};
}

Status GroupCoordinator::apply_marker(const ProducerIdentity& producer, const TransactionMarker& marker) {
  store_.apply_marker(producer.id, marker.result);
  producers_.apply_marker(producer, marker);
  return {};
}

void GroupCoordinator::begin_verification(const ProducerIdentity& producer, Reply<CommitVerification> reply,
                                          const CoordinatorTime&, CoordinatorOutcome& outcome) {
  outcome.answer(std::move(reply), producers_.begin_verification(producer));
}

ErrorCode GroupCoordinator::admit_in_transaction(const TransactionalCommit& request) {
  const std::string& group_id = request.offsets.group_id;
  if (group_id.empty() || !is_group_id(group_id)) return ErrorCode::invalid_group_id;
  if (const ErrorCode wrong = producers_.check_commit(request); wrong != ErrorCode::none) return wrong;
  if (!producers_.has_open(request.producer.id) && producers_.open_count() >= settings_.pending_transactions_max) {
    return ErrorCode::coordinator_not_available;
  }
  const MemberClaim& claim = request.offsets.member;
  if (const ClassicGroup* group = find_classic(group_id)) return check_transactional_commit(*group, claim);
  if (consumer_.find(group_id) != nullptr) return consumer_.check_transactional_commit(request.offsets);
  if (claim.generation < 0) return ErrorCode::none;
  return store_.knows_group(group_id) ? ErrorCode::unknown_member_id : ErrorCode::illegal_generation;
}

void GroupCoordinator::commit_in_transaction(TransactionalCommit request, Reply<CommitAnswer> reply,
                                             const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  CommitAnswer answer;
  if (const ErrorCode refused = admit_in_transaction(request); refused != ErrorCode::none) {
    answer.entries.assign(request.offsets.entries.size(), refused);
  } else {
    GroupStep step = begin_step(time, outcome);
    answer = stage_offsets(request, step);
  }
  if (!outcome.records.empty()) {
    producers_.apply_pending(request.producer, request.transaction_number);
    producers_.note_connection(request.producer, request.connection);
  }
  outcome.answer(std::move(reply), std::move(answer));
}

void GroupCoordinator::write_marker(const WriteMarker& request, Reply<ErrorCode> reply, const CoordinatorTime& time,
                                    CoordinatorOutcome& outcome) {
  const auto judgement = producers_.judge(request);
  if (judgement.is_needed) {
    if (request.marker.result == TransactionResult::commit) {
      GroupStep step = begin_step(time, outcome);
      rewrite_overtaken(request.producer.id, step);
    }
    store_.apply_marker(request.producer.id, request.marker.result);
    producers_.apply_marker(request.producer, request.marker, request.transaction_number);
    outcome.marker = {
        .producer = request.producer, .marker = request.marker, .transaction_version = request.transaction_version};
  }
  outcome.answer(std::move(reply), judgement.error);
}

void GroupCoordinator::describe_pending(std::string_view group_id, Reply<std::vector<PendingTransaction>> reply,
                                        const CoordinatorTime&, CoordinatorOutcome& outcome) {
  std::map<ProducerId, PendingTransaction> transactions;
  for (const auto& [partition, staged] : store_.pending().of_group(group_id)) {
    for (const PendingOffset& each : staged) {
      const auto [found, is_first] = transactions.try_emplace(each.producer.id);
      PendingTransaction& transaction = found->second;
      transaction.producer = each.producer;
      transaction.since =
          is_first ? each.committed.committed_at : std::min(transaction.since, each.committed.committed_at);
      transaction.partitions.push_back(partition);
    }
  }
  std::vector<PendingTransaction> answer;
  answer.reserve(transactions.size());
  for (auto& [id, transaction] : transactions) answer.push_back(std::move(transaction));
  outcome.answer(std::move(reply), std::move(answer));
}

}  // namespace naru
