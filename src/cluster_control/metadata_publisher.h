// The newest metadata image, for everybody in this process.
#pragma once

#include <utility>
#include <vector>

#include "async/task.h"
#include "cluster_control/metadata_image.h"
#include "foundation/function.h"
#include "foundation/shared_cell.h"

namespace naru {

// current() from any thread; subscribe() before the first publish(); publish() one at a time.
class MetadataPublisher {
 public:
  // Brings its part of the broker in line with the image. Must not publish or wait for the controller.
  using Subscriber = UniqueFunction<Task<void>(MetadataImagePtr)>;

  MetadataImagePtr current() const { return current_.load(); }

  // The owner of what the subscriber touches outlives the publisher's last publish().
  void subscribe(Subscriber subscriber) { subscribers_.push_back(std::move(subscriber)); }

  // Returns when every subscriber is done, so that whoever made the change can say that it is in effect here.
  Task<void> publish(MetadataImagePtr image) {
    current_.store(image);
    for (Subscriber& subscriber : subscribers_) co_await subscriber(image);
  }

 private:
  SharedCell<const MetadataImage> current_{std::make_shared<const MetadataImage>()};
  std::vector<Subscriber> subscribers_;
};

}  // namespace naru
