#include "broker/metadata_poller.h"

#include <utility>

#include "foundation/canary.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/naru_metadata_request.h"
#include "kafka_protocol/messages/naru_metadata_response.h"

namespace naru {
namespace {

constexpr Duration kPatience = 5s;      // for changes
constexpr Duration kMorePatience = 5s;  // for the answer, beyond that
constexpr Duration kLookAgain = 100ms;  // who the controller is
constexpr Duration kAfterNoAnswer = 200ms;

FeedAnswer to_feed_answer(const kafka::NaruMetadataResponse& response) {
  FeedAnswer answer{.position = {response.controller_epoch, response.number}, .full = response.full};
  for (const auto& change : response.changes) {
    MetadataKeyChange& key = answer.changes.emplace_back();
    key.key = change.key;
    key.version = change.version;
    if (change.value) key.value = SharedBytes(Bytes(change.value->begin(), change.value->end()));
  }
  return answer;
}

}  // namespace

Task<void> MetadataPoller::poll_for_ever() {
  const CancelToken stopped = background_.token();
  while (!stopped.cancelled()) {
    const auto controller = controller_.elsewhere();
    Duration pause = kLookAgain;
    if (controller) {
      const Status polled = co_await poll(*controller);
      if (polled.ok()) continue;
      log_debug("metadata", "no answer from the controller, broker {}: {}", controller->id, polled.to_string());
      pause = kAfterNoAnswer;
    }
    ignore(co_await sleep_until(seams_.scheduler, seams_.clock.now() + pause, stopped));
  }
}

Task<Status> MetadataPoller::poll(const Peer& controller) {
  const FeedPosition asked_from = follower_.position();
  kafka::NaruMetadataRequest request{.cluster_id = metadata_.current()->cluster().cluster_id,
                                     .broker_id = self_,
                                     .broker_epoch = controller_.broker_epoch(),
                                     .controller_epoch = asked_from.controller_epoch,
                                     .number = asked_from.number,
                                     .max_wait_ms = static_cast<int32_t>(kPatience / 1ms)};
  const auto response = co_await peers_.call<kafka::NaruMetadataResponse>(
      controller, PeerUse::metadata, std::move(request), kPatience + kMorePatience);
  if (!response) co_return response.error();
  if (response->error_code != ErrorCode::none) co_return Status(response->error_code);
  // Everything at once, after another controller was elected: some tenths of a second where there is very much.
  constexpr size_t kChangesOnLoop = 1000;
  if (response->changes.size() > kChangesOnLoop) co_await to_worker(seams_.scheduler);
  const auto taken = follower_.apply(asked_from, to_feed_answer(*response));
  if (!taken) {
    log_error("metadata", "what the controller, broker {}, says cannot be understood: {}", controller.id,
              taken.error().to_string());
    follower_.forget_position();
    co_return taken.error();
  }
  if (*taken) co_await metadata_.show(follower_.image());
  // A broker that has lost its session may still have the roles from before, while another one leads.
  const bool roles_are_old = !has_roles_(*metadata_.current()) && !is_planted(Canary::contact_before_roles);
  if (response->has_contact && !roles_are_old) contact_.heard(seams_.clock.now());
  co_return Status();
}

Task<void> MetadataPoller::stop() {
  background_.cancel();
  return background_.join();
}

}  // namespace naru
