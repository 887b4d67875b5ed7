#include "cluster_control/metadata_publisher.h"

#include <utility>

namespace naru {

Task<void> MetadataPublisher::show(MetadataImagePtr image) {
  const auto turn = co_await turns_.enter_always();
  if (image->cluster().controller_epoch < current()->cluster().controller_epoch) co_return;
  current_.store(image);
  for (Subscriber& subscriber : prompt_) co_await subscriber(image);
  for (const auto& lane : lanes_) {
    if (!lane->due.exchange(true)) background_.spawn(bring_forward(*lane));
  }
}

// The image is taken when it is this one's turn: those who waited for the same one find that it was followed.
Task<void> MetadataPublisher::bring_forward(Lane& lane) {
  const auto turn = co_await lane.turns.enter_always();
  lane.due = false;
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
