#include "cluster_control/controller_office.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cluster_control/controller_log.h"
#include "cluster_control/elect_leaders.h"
#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/raise_replication.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr Duration kFirstPause = 100ms;  // after something failed
constexpr Duration kLongestPause = 5s;
constexpr Duration kSessionMargin = 3s;  // for a service that is slow to end a session

std::map<BrokerId, int64_t> epochs_of(const MetadataImage& image) {
  std::map<BrokerId, int64_t> epochs;
  for (const auto& [id, broker] : image.brokers()) epochs.emplace(id, broker.epoch);
  return epochs;
}

}  // namespace

ControllerOffice::ControllerOffice(Parts parts)
    : parts_(std::move(parts)),
      store_(&parts_.store),
      registrar_(parts_.clock, parts_.scheduler, parts_.session_timeout + kSessionMargin),
      events_(parts_.scheduler),
      view_changes_(parts_.scheduler) {}

Task<Status> ControllerOffice::start(BrokerRegistration registration, CancelToken cancelled) {
  const CancelCallback on_cancel(cancelled, [this] { stopping_source_.cancel(); });
  registration_ = std::move(registration);
  watch_store();
  co_await parts_.runner.use(*store_);
  const uint64_t seen = events_.count();
  NARU_CO_TRY(co_await enter_for_the_first_time(parts_.clock.now() + parts_.config.coordination_start_timeout));
  NARU_CO_TRY(co_await examine());
  background_.spawn(live(stopping_source_.token(), seen));
  co_return Status();
}

// The service has begun a session, but it may be silent from then on, until that has expired and longer.
Task<Status> ControllerOffice::enter_for_the_first_time(MonotonicTime deadline) {
  for (;;) {
    const Status entered = co_await enter_cluster();
    if (!(entered == ErrorCode::unavailable) || parts_.clock.now() >= deadline) co_return entered;
    log_warn("controller", "broker {} cannot register yet, and tries again for {} s more at most: {}", registration_.id,
             std::chrono::ceil<std::chrono::seconds>(deadline - parts_.clock.now()).count(), entered.to_string());
    NARU_CO_TRY(co_await sleep_until(parts_.scheduler, parts_.clock.now() + kFirstPause, stopping_source_.token()));
    const Session session = co_await store_->session();
    if (session.state != SessionState::expired || !parts_.reopen_store) continue;
    // Nothing was registered by this process yet, so what it has to tell is not known to anybody.
    const bool clean_shutdown = registration_.clean_shutdown;
    auto offline = registration_.offline;
    const Status renewed = co_await renew_session();
    registration_.clean_shutdown = clean_shutdown;
    registration_.offline = std::move(offline);
    if (!renewed.ok() && !(renewed == ErrorCode::unavailable)) co_return renewed;
  }
}

Task<void> ControllerOffice::stop() {
  if (std::exchange(stopped_, true)) co_return;
  stopping_source_.cancel();
  co_await background_.join();
  co_await unwatch_store();
  if (own_store_) ignore(co_await own_store_->close());
}

Task<void> ControllerOffice::resign() {
  resigned_ = true;
  if (!parts_.runner.office_epoch()) co_return;
  const Status resigned = co_await parts_.runner.resign();
  if (!resigned.ok()) {
    log_warn("controller", "the others have to wait until the session of broker {} ends: {}", registration_.id,
             resigned.to_string());
  }
  events_.notify();
}

void ControllerOffice::watch_store() {
  watching_ = std::make_unique<TaskGroup>();
  watching_->spawn(pump(store_->watch(std::string(metadata_keys::kController)), watching_->token()));
  watching_->spawn(pump(store_->watch(std::string(metadata_keys::kBrokers)), watching_->token()));
}

Task<void> ControllerOffice::unwatch_store() {
  if (!watching_) co_return;
  watching_->cancel();
  co_await watching_->join();
  watching_.reset();
}

Task<void> ControllerOffice::pump(std::unique_ptr<Watch> watch, CancelToken token) {
  co_await look_at_session();
  while ((co_await watch->next(token)).ok()) {
    co_await look_at_session();
    events_.notify();
  }
}

// Not by the loop, which may be in the middle of something that needs the service.
Task<void> ControllerOffice::look_at_session() {
  const Session session = co_await store_->session();
  connected_.store(session.state == SessionState::connected, std::memory_order_relaxed);
}

Task<void> ControllerOffice::live(CancelToken token, uint64_t seen) {
  Duration pause = kFirstPause;
  MonotonicTime next = next_look();
  while (!token.cancelled()) {
    co_await events_.wait_beyond(seen, next, token);
    if (token.cancelled()) break;
    seen = events_.count();
    const Status status = co_await examine();
    next = std::max(next_look(), parts_.clock.now() + kFirstPause);  // what is due may not be possible now
    if (status.ok()) {
      pause = kFirstPause;
      continue;
    }
    log_warn("controller", "broker {} tries again in {} ms: {}", registration_.id,
             std::chrono::duration_cast<Milliseconds>(pause).count(), status.to_string());
    next = std::min(next, parts_.clock.now() + pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

Task<Status> ControllerOffice::examine() {
  const Session session = co_await store_->session();
  if (session.state == SessionState::suspended) co_return Status();  // the watches fire when that changes
  if (session.state == SessionState::expired) {
    if (!parts_.reopen_store) co_return Status();  // every call answers unavailable
    co_await parts_.runner.leave_office();
    notice_lost_office();
    NARU_CO_TRY(co_await renew_session());
  }
  if (!registered_) NARU_CO_TRY(co_await enter_cluster());
  if (parts_.runner.office_epoch()) {
    const Status served = co_await serve();
    if (!(served == ErrorCode::not_controller)) co_return served;
  }
  notice_lost_office();
  if (resigned_) co_return co_await find_controller();
  co_return co_await campaign();
}

Task<Status> ControllerOffice::renew_session() {
  NARU_CO_TRY_ASSIGN(auto opened, co_await parts_.reopen_store());
  log_info("controller", "broker {} lost its session and begins a new one", registration_.id);
  registered_ = false;
  registration_.clean_shutdown = true;               // the process is the same, so nothing is missing
  registration_.offline.reset();                     // as it was told before
  registration_.incarnation = parts_.random.uuid();  // a stale read must not show the old registration as this one
  co_await unwatch_store();
  co_await parts_.runner.use(*opened);
  if (own_store_) ignore(co_await own_store_->close());
  own_store_ = std::move(opened);
  store_ = own_store_.get();
  watch_store();
  co_return Status();
}

Task<Status> ControllerOffice::enter_cluster() {
  NARU_CO_TRY_ASSIGN(const int64_t epoch, co_await registrar_.enter(*store_, registration_, stopping_source_.token()));
  broker_epoch_.store(epoch, std::memory_order_release);
  NARU_CO_TRY(co_await confirm_epoch(epoch));
  registered_ = true;
  co_return Status();
}

// Before a broker that starts leads or follows: if a data folder is replaced by an older copy later, what was stored in
// between is missed only if the epoch was confirmed. A folder in which it could not be written is not confirmed, and
// keeps its earlier epoch.
Task<Status> ControllerOffice::confirm_epoch(int64_t epoch) {
  if (!parts_.write_epoch) co_return Status();
  std::vector<Uuid> written = co_await parts_.write_epoch(epoch);
  for (DataFolder& folder : registration_.folders) {
    if (std::ranges::find(written, folder.id) != written.end()) folder.found_epoch = epoch;
  }
  co_return co_await registrar_.confirm(*store_, {registration_.id, epoch, std::move(written)},
                                        stopping_source_.token());
}

Task<Status> ControllerOffice::campaign() {
  ClaimControllerPlanner claim(registration_.id, registration_.incarnation, parts_.random.uuid());
  NARU_CO_TRY_ASSIGN(const bool claimed, co_await parts_.runner.claim(claim));
  if (claimed) {
    log_info("controller", "broker {} is the controller, epoch {}", registration_.id, claim.epoch());
    term_ = claim.epoch();
    forget_stopping();  // of those who have not noticed that an earlier office had ended
    co_return co_await serve();
  }
  co_return co_await find_controller();
}

Task<Status> ControllerOffice::find_controller() {
  NARU_CO_TRY_ASSIGN(const auto found, co_await store_->get(std::string(metadata_keys::kControllerEpoch)));
  if (!found) co_return Status();
  const MetadataImage nothing;
  MetadataImageBuilder builder(nothing);
  NARU_CO_TRY(builder.put(found->key, found->value.view(), found->version));
  NARU_CO_TRY_ASSIGN(MetadataImagePtr image, builder.build());
  ControllerView view{.id = image->cluster().controller_id, .epoch = image->cluster().controller_epoch};
  // A broker that has just come knows nobody's address yet.
  NARU_CO_TRY_ASSIGN(const auto broker, co_await store_->get(metadata_keys::broker(view.id)));
  if (broker) {
    MetadataImageBuilder with_broker(*image);
    NARU_CO_TRY(with_broker.put(broker->key, broker->value.view(), broker->version));
    NARU_CO_TRY_ASSIGN(image, with_broker.build());
    view.listeners = image->find_broker(view.id)->listeners;
  }
  set_view(view);
  co_return Status();
}

Task<Status> ControllerOffice::serve() {
  NARU_CO_TRY(co_await parts_.runner.look_again());
  NARU_CO_TRY(co_await settle_if_needed());
  if (!open_) {
    // Only now: what the brokers may have lost is dealt with, so that nobody leads who must not.
    NARU_CO_TRY(co_await parts_.runner.open_office());
    open_ = true;
    next_rebalance_ = parts_.clock.now() + parts_.config.leader_imbalance_check_interval;
    set_view({.id = registration_.id, .epoch = *term_, .here = true});
  }
  NARU_CO_TRY(co_await raise_replication_if_needed());
  co_return co_await rebalance_if_due();
}

Task<Status> ControllerOffice::settle_if_needed() {
  const MetadataImagePtr before = parts_.runner.image();
  const bool asked = settle_again_.exchange(false);
  if (!asked && settled_brokers_ == epochs_of(*before)) co_return Status();
  const BrokerStandings standings(*before, stopping());
  SettlePartitionsPlanner planner(parts_.config, [this] { return stopping(); });
  co_await parts_.runner.run(planner);
  if (!planner.status().ok()) {
    if (asked) settle_again_ = true;
    co_return planner.status();
  }
  log_settled(settled_brokers_.value_or(std::map<BrokerId, int64_t>()), standings, planner);
  settled_brokers_ = planner.settled_brokers();
  if (settled_brokers_ != epochs_of(*parts_.runner.image())) events_.notify();  // some came or went meanwhile
  co_return Status();
}

Task<Status> ControllerOffice::raise_replication_if_needed() {
  if (!RaiseReplicationPlanner::is_needed(parts_.config, *parts_.runner.image())) co_return Status();
  // One that stops would get replicas that it cannot fetch. It comes back or is gone, and then this is looked at again.
  const BrokerStandings standings(*parts_.runner.image(), stopping());
  const auto stops = [](const auto& broker) { return broker.second.stopping; };
  if (std::ranges::any_of(standings.registered(), stops)) co_return Status();
  RaiseReplicationPlanner planner(parts_.config);
  co_await parts_.runner.run(planner);
  NARU_CO_TRY(planner.status());
  log_info("controller", "{} partitions of internal topics get more replicas", planner.raised());
  co_return Status();
}

Task<Status> ControllerOffice::rebalance_if_due() {
  if (!parts_.config.auto_leader_rebalance_enable || parts_.clock.now() < next_rebalance_) co_return Status();
  next_rebalance_ = parts_.clock.now() + parts_.config.leader_imbalance_check_interval;
  const MetadataImagePtr image = parts_.runner.image();
  const BrokerStandings brokers = BrokerStandings(*image, stopping()).settled_only();
  std::vector<ElectLeadersItem> items;
  co_await for_each_topic(parts_.scheduler, image,
                          [&](const TopicMetadata& topic) { add_imbalanced(topic, brokers, items); });
  if (items.empty()) co_return Status();
  ElectLeadersPlanner planner(ElectionType::preferred, std::move(items), stopping());
  co_await parts_.runner.run(planner);
  const auto results = planner.take_results();
  const auto elected = std::ranges::count_if(results, [](const auto& result) { return result.status.ok(); });
  log_info("controller", "{} partitions are led by their preferred replicas again", elected);
  co_return Status();
}

// A lone broker leads everything it can.
MonotonicTime ControllerOffice::next_look() const {
  const bool balances =
      open_ && parts_.config.auto_leader_rebalance_enable && settled_brokers_ && settled_brokers_->size() > 1;
  return balances ? next_rebalance_ : MonotonicTime::max();
}

void ControllerOffice::notice_lost_office() {
  if (!term_) return;
  log_info("controller", "broker {} is not the controller any more, epoch {}", registration_.id, *term_);
  term_.reset();
  open_ = false;
  settled_brokers_.reset();
  forget_stopping();
  set_view({});
}

void ControllerOffice::forget_stopping() {
  const std::scoped_lock lock(mutex_);
  stopping_ = {};
}

void ControllerOffice::set_view(const ControllerView& view) {
  {
    const std::scoped_lock lock(mutex_);
    if (view_ == view) return;
    view_ = view;
  }
  view_changes_.notify();
}

ControllerView ControllerOffice::controller() const {
  const std::scoped_lock lock(mutex_);
  return view_;
}

Task<void> ControllerOffice::wait_for_change(ControllerView seen, CancelToken token) {
  while (!token.cancelled()) {
    const uint64_t count = view_changes_.count();
    if (controller() != seen) co_return;
    co_await view_changes_.wait_beyond(count, MonotonicTime::max(), token);
  }
}

StoppingBrokers ControllerOffice::stopping() const {
  const std::scoped_lock lock(mutex_);
  return stopping_;
}

void ControllerOffice::note_stopping(BrokerId id, int64_t broker_epoch) {
  const std::scoped_lock lock(mutex_);
  stopping_.insert_or_assign(id, broker_epoch);
}

void ControllerOffice::settle_again() {
  settle_again_ = true;
  events_.notify();
}

}  // namespace naru
