// The newest metadata image, for everybody in this process.
//
// Who leads and who follows must not wait for a disk, and least of all the controller's own: so those who only have to
// be told are told while the image is shown, and those who have work to do follow in their own time, each in a lane of
// its own. Whoever promises that a change is in effect waits for all of them.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "cluster_control/metadata_image.h"
#include "cluster_control/turnstile.h"
#include "foundation/function.h"
#include "foundation/shared_cell.h"

namespace naru {

// Thread-safe, but subscribe before the first image is shown. Stopped before it is destroyed if it has subscribers with
// lanes.
class MetadataPublisher {
 public:
  // Brings its part of the broker in line with the image. Must not show images or wait for the controller.
  using Subscriber = UniqueFunction<Task<void>(MetadataImagePtr)>;

  MetadataImagePtr current() const { return current_.load(); }

  // The owner of what a subscriber touches outlives stop().
  // Is told every image, in their order, before show() returns: must not wait for a disk or for anybody else.
  void subscribe_promptly(Subscriber subscriber) { prompt_.push_back(std::move(subscriber)); }
  // Follows in a lane of its own, after the prompt ones: one image at a time, and always the newest, so that it may
  // never see some of them.
  void subscribe(Subscriber subscriber) { lanes_.push_back(std::make_unique<Lane>(std::move(subscriber))); }

  // Returns when the prompt subscribers are done; the others have begun, or will. An image of an earlier controller
  // than the present one's comes too late, and is ignored.
  Task<void> show(MetadataImagePtr image);
  // Returns when all subscribers have followed what was shown before the call, so that whoever made a change can say
  // that it is in effect here.
  Task<void> take_effect();
  Task<void> publish(MetadataImagePtr image);

  // Those with lanes follow the newest image once more: what they could not do may be possible now. Does not wait.
  Task<void> follow_again();

  // Images that are shown afterwards are ignored; nobody follows any more when it returns.
  Task<void> stop();

 private:
  struct Lane {
    explicit Lane(Subscriber s) : subscriber(std::move(s)) {}

    Subscriber subscriber;
    Turnstile turns{0};  // of whoever brings it forward
    SharedCell<const MetadataImage> followed{nullptr};
    std::atomic<bool> due{false};  // somebody will bring it forward, and has not looked yet which image is the newest
  };

  Task<void> bring_forward(Lane& lane);
  void bring_all_forward();

  SharedCell<const MetadataImage> current_{std::make_shared<const MetadataImage>()};
  std::vector<Subscriber> prompt_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Turnstile turns_{0};                // of show()
  std::atomic<bool> stopped_{false};  // set by whoever has the turn
  TaskGroup background_;
};

}  // namespace naru
