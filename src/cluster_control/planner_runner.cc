#include "cluster_control/planner_runner.h"

#include <utility>

#include "cluster_control/metadata_draft.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"
#include "foundation/assert.h"

namespace naru {
namespace {

constexpr size_t kMaxWaitingRequests = 1000;
constexpr int kMaxAttempts = 8;
constexpr Duration kFirstBackoff = 20ms;
constexpr int32_t kOutOfOffice = -1;

bool may_be_retried(const Status& status) {
  return status == ErrorCode::version_conflict || status == ErrorCode::unavailable;
}

}  // namespace

PlannerRunner::PlannerRunner(Parts parts)
    : parts_(parts),
      turnstile_(kMaxWaitingRequests),
      stored_(parts.feed),
      epoch_(kOutOfOffice),
      image_(std::make_shared<const MetadataImage>()) {}

std::optional<int32_t> PlannerRunner::office_epoch() const {
  const int32_t epoch = epoch_.load(std::memory_order_acquire);
  return epoch == kOutOfOffice ? std::nullopt : std::optional(epoch);
}

Task<void> PlannerRunner::run(Planner& planner) {
  for (bool is_first = true; !planner.done(); is_first = false) {
    // A step that needs no transaction waits for nothing: everything else on the loop comes before the next one.
    if (!is_first) co_await to_loop(parts_.scheduler);
    auto turn = co_await turnstile_.enter();
    if (!turn) {
      planner.abandon(turn.error());
      break;
    }
    if (const Status status = co_await run_step(planner); !status.ok()) planner.abandon(status);
  }
}

// One transaction, however many attempts it takes.
Task<Status> PlannerRunner::run_step(Planner& planner) {
  for (int attempt = 1;; ++attempt) {
    const Status status = co_await try_step(planner);
    if (status.ok() || !may_be_retried(status) || attempt == kMaxAttempts) co_return status;
    if (status == ErrorCode::version_conflict) continue;
    if (co_await session_expired()) {
      parts_.fenced.add();
      co_return status;
    }
    co_await back_off(attempt);
  }
}

Task<Status> PlannerRunner::try_step(Planner& planner) {
  NARU_CO_TRY(co_await catch_up());
  std::optional<Transaction> transaction = planner.plan(*stored_.image());
  if (!transaction && stored_.own_commit_may_come()) {
    // An answer without a transaction says what is. An earlier attempt whose outcome is unknown could still change
    // that, unless another transaction comes before it.
    NARU_CO_TRY(co_await commit(MetadataDraft(*stored_.image()).finish()));
    co_return Status(ErrorCode::version_conflict, "an earlier attempt was in doubt until now");
  }
  if (transaction) NARU_CO_TRY(co_await commit(std::move(*transaction)));
  planner.committed();
  co_return Status();
}

Task<Status> PlannerRunner::commit(Transaction transaction) {
  const Status committed = co_await stored_.commit(std::move(transaction));
  commit_refused_ = committed == ErrorCode::version_conflict;
  if (committed.ok()) co_await show_image();
  co_return committed;
}

Task<Status> PlannerRunner::catch_up() {
  const std::optional<int32_t> epoch = office_epoch();
  if (!epoch) co_return Status(ErrorCode::not_controller, "this broker is not the controller");
  const MetadataImagePtr before = stored_.image();
  NARU_CO_TRY(co_await stored_.catch_up());
  const ClusterMetadata& cluster = stored_.image()->cluster();
  if (cluster.controller_epoch != *epoch) {
    if (std::exchange(commit_refused_, false)) parts_.fenced.add();
    end_office();
    co_return error(ErrorCode::not_controller, "broker {} is the controller now, epoch {}", cluster.controller_id,
                    cluster.controller_epoch);
  }
  if (stored_.image() != before) co_await show_image();
  co_return Status();
}

Task<void> PlannerRunner::show_image() {
  image_.store(stored_.image());
  if (open_) co_await parts_.publisher.show(stored_.image());
}

Task<void> PlannerRunner::use(CoordinationStore& store) {
  auto turn = co_await turnstile_.enter_always();
  end_office();
  stored_.use(store);
}

Task<Result<bool>> PlannerRunner::claim(ClaimControllerPlanner& planner) {
  auto turn = co_await turnstile_.enter_always();
  NARU_ASSERT(!office_epoch(), "the controller claims its own office");
  for (int attempt = 1;; ++attempt) {
    auto claimed = co_await try_claim(planner);
    if (claimed || !may_be_retried(claimed.error()) || attempt == kMaxAttempts) co_return claimed;
    if (claimed.error() == ErrorCode::version_conflict) continue;
    if (co_await session_expired()) co_return claimed;
    co_await back_off(attempt);
  }
}

// A conflict is a broker that registered, or another claim: then the key is there at the next attempt.
Task<Result<bool>> PlannerRunner::try_claim(ClaimControllerPlanner& planner) {
  NARU_CO_TRY_ASSIGN(const auto found, co_await stored_.store().get(std::string(metadata_keys::kController)));
  if (found) {
    NARU_CO_TRY_ASSIGN(const ControllerHolder holder, decode_controller(found->value.view()));
    if (holder.incarnation != planner.incarnation()) co_return false;
  }
  stored_.use(stored_.store());
  NARU_CO_TRY(co_await stored_.catch_up());
  if (!found) {
    NARU_CO_TRY(co_await stored_.commit(*planner.plan(*stored_.image())));
  } else if (!planner.recognise(*stored_.image())) {
    co_return failure(ErrorCode::version_conflict, "the office was lost meanwhile");
  }
  planner.committed();
  image_.store(stored_.image());
  epoch_.store(planner.epoch(), std::memory_order_release);
  co_return true;
}

Task<Status> PlannerRunner::open_office() {
  auto turn = co_await turnstile_.enter_always();
  NARU_CO_TRY(co_await catch_up());
  open_ = true;
  parts_.feed.open(*office_epoch());
  co_await parts_.publisher.show(stored_.image());
  co_return Status();
}

Task<void> PlannerRunner::leave_office() {
  auto turn = co_await turnstile_.enter_always();
  end_office();
}

Task<Status> PlannerRunner::resign() {
  auto turn = co_await turnstile_.enter_always();
  Status status;
  for (int attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    status = co_await give_office_up();
    if (!(status == ErrorCode::version_conflict)) break;
  }
  end_office();
  co_return status;
}

Task<Status> PlannerRunner::give_office_up() {
  NARU_CO_TRY(co_await catch_up());
  Transaction transaction = MetadataDraft(*stored_.image()).finish();
  transaction.deletes.emplace_back(metadata_keys::kController);
  co_return co_await stored_.commit(std::move(transaction));
}

void PlannerRunner::end_office() {
  open_ = false;
  parts_.feed.close();
  epoch_.store(kOutOfOffice, std::memory_order_release);
}

Task<Status> PlannerRunner::look_again() {
  auto turn = co_await turnstile_.enter_always();
  stored_.suspect_changes();
  co_return co_await catch_up();
}

Task<bool> PlannerRunner::session_expired() {
  const Session session = co_await stored_.store().session();
  co_return session.state == SessionState::expired;
}

Task<void> PlannerRunner::back_off(int attempt) {
  ignore(co_await sleep_until(parts_.scheduler, parts_.clock.now() + kFirstBackoff * (1 << (attempt - 1))));
}

}  // namespace naru
