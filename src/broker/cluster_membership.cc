#include "broker/cluster_membership.h"

#include <algorithm>

#include "broker/stop_phases.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr Duration kJoinPatience = 60s;
constexpr Duration kHandOverLook = 20ms;
constexpr Duration kOfficePatience = 2s;  // all brokers may be about to stop

}  // namespace

ClusterMembership::ClusterMembership(Parts parts)
    : parts_(parts),
      peers_(parts.seams, parts.config.node_id),
      controller_(parts.controller, peers_, parts.config.node_id),
      isr_sender_(
          parts.seams,
          [this](std::vector<IsrChange> changes) { return controller_.alter_partitions(std::move(changes)); },
          parts.metadata),
      fetchers_(
          parts.seams, parts.config.replication, parts.config.node_id,
          [&controller = parts.controller] { return controller.broker_epoch(); }, parts.metrics),
      followed_(parts.config.node_id,
                [&hosted = parts.hosted](const Uuid& topic_id, PartitionIndex index) {
                  return hosted.find(topic_id, index).partition;
                }),
      poller_(parts.seams, controller_, peers_, parts.metadata, parts.config.node_id, parts.contact,
              [this](const MetadataImage& image) { return may_take_roles(image); }),
      offline_logs_(
          {.seams = parts.seams,
           .self = parts.config.node_id,
           .hosted = parts.hosted,
           .metadata = parts.metadata,
           .has_roles = [this](const MetadataImage& image) { return may_take_roles(image); },
           .broker_epoch = [this] { return parts_.controller.broker_epoch(); },
           .report = [this](PartitionIds logs) { return controller_.report_offline_logs(std::move(logs)); }}) {}

bool ClusterMembership::may_take_roles(const MetadataImage& image) const {
  const BrokerId self = parts_.config.node_id;
  const BrokerMetadata* registered = image.find_broker(self);
  return registered != nullptr && registered->epoch == parts_.controller.broker_epoch() && image.is_settled(self);
}

Task<Status> ClusterMembership::join(CancelToken cancelled) {
  poller_.start();
  offline_logs_.start();
  background_.spawn(check_followers_from_time_to_time());
  const auto timer = parts_.seams.scheduler.start_timer(parts_.seams.clock.now() + kJoinPatience,
                                                        [waiter = joined_] { waiter->wake(); });
  const CancelCallback on_cancel(cancelled, [waiter = joined_] { waiter->wake(); });
  co_await joined_->event();
  parts_.seams.scheduler.cancel_timer(timer);
  if (has_roles_.load()) co_return Status();
  if (cancelled.cancelled()) co_return Status(ErrorCode::cancelled);
  const auto controller = controller_.elsewhere();
  if (!controller) co_return error(ErrorCode::request_timed_out, "no broker became controller: the log says why");
  co_return error(
      ErrorCode::request_timed_out,
      "the controller, broker {} at {}, does not say what this broker has to do: is it reachable from here?",
      controller->id, controller->address.to_string());
}

void ClusterMembership::look_again_at(const std::set<Uuid>& topics) {
  const std::scoped_lock lock(mutex_);
  followed_.look_again_at(topics);
}

void ClusterMembership::follow() {
  {
    const std::scoped_lock lock(mutex_);
    const MetadataImagePtr image = parts_.role_image.load();  // inside, so that it never goes back
    if (!may_take_roles(*image)) return;
    if (!stopped_) fetchers_.follow(followed_.update(image));
  }
  offline_logs_.follow_metadata();
  has_roles_.store(true);
  joined_->wake();
}

Task<void> ClusterMembership::check_followers_from_time_to_time() {
  const CancelToken stopped = background_.token();
  const Duration interval = parts_.config.replication.lag_time_max / 2;
  for (;;) {
    const Status slept = co_await sleep_until(parts_.seams.scheduler, parts_.seams.clock.now() + interval, stopped);
    if (!slept.ok()) co_return;
    for (const auto& partition : parts_.hosted.all()) partition->check_followers();
  }
}

int64_t ClusterMembership::led() const {
  const MetadataImagePtr image = parts_.metadata.current();
  int64_t led = 0;
  for (const TopicMetadataPtr& topic : image->topics()) {
    led += std::ranges::count(topic->partitions, parts_.config.node_id,
                              [](const PartitionStatePtr& state) { return state->leader; });
  }
  return led;
}

Task<void> ClusterMembership::hand_over() {
  if (parts_.metadata.current()->brokers().size() <= 1) co_return;
  const MonotonicTime deadline = parts_.seams.clock.now() + stop_limits::kHandOver;
  const auto still_led = co_await controller_.announce_stop();
  if (!still_led) {
    log_warn("broker", "the controller does not know that this broker stops, others will notice: {}",
             still_led.error().to_string());
    co_return;
  }
  co_await wait_until_led(*still_led, deadline);
  if (controller_.is_here()) co_await pass_office_on();
}

// The controller has decided; this broker has to hear of it. What nobody else can lead, because the others stop too or
// are not in sync, stays here.
Task<void> ClusterMembership::wait_until_led(int64_t still_led, MonotonicTime deadline) {
  while (led() > still_led && parts_.seams.clock.now() < deadline) {
    ignore(co_await sleep_until(parts_.seams.scheduler, parts_.seams.clock.now() + kHandOverLook));
  }
}

// While this broker closes its logs, which may take long, the cluster has a controller. The next one has to know that
// this broker is stopping, or it would be in sync again.
Task<void> ClusterMembership::pass_office_on() {
  if (parts_.metadata.current()->brokers().size() <= 1) co_return;
  const MonotonicTime deadline = parts_.seams.clock.now() + kOfficePatience;
  // The whole cluster is shutting down: nobody is there to be told.
  const bool last = parts_.controller.all_others_stop(parts_.config.node_id);
  co_await parts_.controller.resign();
  if (last) co_return;
  Status told(ErrorCode::not_controller, "nobody has taken the office");
  while (!told.ok() && parts_.seams.clock.now() < deadline) {
    ignore(co_await sleep_until(parts_.seams.scheduler, parts_.seams.clock.now() + kHandOverLook));
    if (!controller_.elsewhere()) continue;
    const auto still_led = co_await controller_.announce_stop();
    told = still_led ? Status() : still_led.error();
  }
  if (!told.ok()) log_warn("broker", "the next controller does not know that this broker stops: {}", told.to_string());
}

Task<void> ClusterMembership::stop() {
  background_.cancel();
  co_await background_.join();
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  co_await fetchers_.stop();
  co_await peers_.stop();
  co_await poller_.stop();
  co_await isr_sender_.stop();
  co_await offline_logs_.stop();
}

}  // namespace naru
