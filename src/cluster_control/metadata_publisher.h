// The newest metadata image, for everybody in this process.
#pragma once

#include <utility>
#include <vector>

#include "async/task.h"
#include "cluster_control/metadata_image.h"
#include "cluster_control/turnstile.h"
#include "foundation/function.h"
#include "foundation/shared_cell.h"

namespace naru {

// Thread-safe, but subscribe() before the first publish().
class MetadataPublisher {
 public:
  // Brings its part of the broker in line with the image. Must not publish or wait for the controller.
  using Subscriber = UniqueFunction<Task<void>(MetadataImagePtr)>;

  MetadataImagePtr current() const { return current_.load(); }

  // The owner of what the subscriber touches outlives the publisher's last publish().
  void subscribe(Subscriber subscriber) { subscribers_.push_back(std::move(subscriber)); }

  // Returns when every subscriber is done, so that whoever made the change can say that it is in effect here. An image
  // of an earlier controller than the present one's comes too late, and is ignored.
  Task<void> publish(MetadataImagePtr image) {
    const auto turn = co_await turnstile_.enter();
    if (!turn || image->cluster().controller_epoch < current()->cluster().controller_epoch) co_return;
    current_.store(image);
    for (Subscriber& subscriber : subscribers_) co_await subscriber(image);
  }

 private:
  static constexpr size_t kMaxWaiting = 1000;  // the controller publishes one at a time, and so does who follows it

  SharedCell<const MetadataImage> current_{std::make_shared<const MetadataImage>()};
  std::vector<Subscriber> subscribers_;
  Turnstile turnstile_{kMaxWaiting};
};

}  // namespace naru
