// Asks that wait for the end of the transaction before.
#include <utility>

#include "transactions/transaction_coordinator.h"

namespace naru {
namespace {

void answer_busy(Reply<InitProducerAnswer> reply, const InitProducer&, CoordinatorOutcome& outcome) {
  outcome.answer(std::move(reply), InitProducerAnswer{.error = ErrorCode::concurrent_transactions});
}

void answer_busy(Reply<AddPartitionsAnswer> reply, const AddPartitions& request, CoordinatorOutcome& outcome) {
  AddPartitionsAnswer answer;
  answer.partitions.assign(request.partitions.size(), ErrorCode::concurrent_transactions);
  outcome.answer(std::move(reply), std::move(answer));
}

}  // namespace

bool TransactionCoordinator::can_park(const std::string& transactional_id) const {
  const auto found = live_.find(transactional_id);
  const size_t parked = found == live_.end() ? 0 : found->second.parked.size();
  return parked < settings_.parked_per_id_max && settings_.parked_max > Milliseconds(0);
}

void TransactionCoordinator::park(InitAsk ask, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  const std::string id = ask.request.transactional_id;
  if (!can_park(id)) return answer_busy(std::move(ask.reply), ask.request, outcome);
  keep_parked(id, std::move(ask), time);
}

void TransactionCoordinator::park(AddAsk ask, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  const std::string id = ask.request.transactional_id;
  if (!ask.request.may_wait || !can_park(id)) return answer_busy(std::move(ask.reply), ask.request, outcome);
  keep_parked(id, std::move(ask), time);
}

void TransactionCoordinator::keep_parked(const std::string& transactional_id, std::variant<InitAsk, AddAsk> ask,
                                         const CoordinatorTime& time) {
  const uint64_t ticket = next_ticket_++;
  const auto timer =
      timers_.insert(time.now + settings_.parked_max,
                     {.kind = Timer::Kind::parked, .transactional_id = transactional_id, .ticket = ticket});
  live_[transactional_id].parked.push_back({ticket, timer, std::move(ask)});
}

void TransactionCoordinator::resume_parked(const std::string& transactional_id, const CoordinatorTime& time,
                                           CoordinatorOutcome& outcome) {
  // In the order in which they came; who finds a transaction of one of the others is parked anew.
  for (Parked& parked : std::exchange(live_[transactional_id].parked, {})) {
    timers_.cancel(parked.timer);
    if (auto* init = std::get_if<InitAsk>(&parked.ask)) {
      init_producer(std::move(init->request), std::move(init->reply), time, outcome);
    } else {
      auto& add = std::get<AddAsk>(parked.ask);
      add_partitions(std::move(add.request), std::move(add.reply), time, outcome);
    }
  }
}

void TransactionCoordinator::send_back(const Timer& timer, CoordinatorOutcome& outcome) {
  auto& parked = live_[timer.transactional_id].parked;
  for (auto each = parked.begin(); each != parked.end(); ++each) {
    if (each->ticket != timer.ticket) continue;
    std::visit([&](auto& ask) { answer_busy(std::move(ask.reply), ask.request, outcome); }, each->ask);
    parked.erase(each);
    return;
  }
}

void TransactionCoordinator::unload(const Status& reason) {
  for (auto& [id, live] : live_) {
    for (Parked& parked : live.parked) {
      std::visit([&](auto& ask) { ask.reply(failure(reason)); }, parked.ask);
    }
  }
  live_.clear();
}

}  // namespace naru
