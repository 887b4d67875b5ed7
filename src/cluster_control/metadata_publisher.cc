#include "cluster_control/metadata_publisher.h"

#include <utility>

namespace naru {

Task<void> MetadataPublisher::show(MetadataImagePtr image) {
  const auto turn = co_await turns_.enter_always();
  if (stopped_) co_return;
  if (image->cluster().controller_epoch < current()->cluster().controller_epoch) co_return;
  current_.store(image);
  for (Subscriber& subscriber : prompt_) co_await subscriber(image);
  bring_all_forward();
}

void MetadataPublisher::bring_all_forward() {
  for (const auto& lane : lanes_) {
    if (!lane->due.exchange(true)) background_.spawn(bring_forward(*lane));
  }
}

Task<void> MetadataPublisher::follow_again() {
  const auto turn = co_await turns_.enter_always();
  if (stopped_) co_return;
  for (const auto& lane : lanes_) lane->followed.store(nullptr);
  bring_all_forward();
}

Task<void> MetadataPublisher::stop() {
  {
    const auto turn = co_await turns_.enter_always();
    stopped_ = true;
  }
  co_await background_.join();
  // Whoever waits in take_effect() may follow in a lane.
  for (const auto& lane : lanes_) co_await lane->turns.enter_always();
}

// The image is taken when it is this one's turn: those who waited for the same one find that it was followed.
Task<void> MetadataPublisher::bring_forward(Lane& lane) {
  const auto turn = co_await lane.turns.enter_always();
  lane.due = false;
  if (stopped_) co_return;
  const MetadataImagePtr image = current();
  if (lane.followed.load() == image) co_return;
  co_await lane.subscriber(image);
  lane.followed.store(image);
}

Task<void> MetadataPublisher::take_effect() {
  if (current()->cluster().controller_epoch == 0) co_return;  // nothing was shown yet
  for (const auto& lane : lanes_) co_await bring_forward(*lane);
}

Task<void> MetadataPublisher::publish(MetadataImagePtr image) {
  co_await show(std::move(image));
  co_await take_effect();
}

}  // namespace naru
