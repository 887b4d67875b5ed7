// What the brokers that are not the controller learn the metadata from: the keys as the controller last published them,
// and the recent changes.
//
// Each publication of an office has a number; a position is (controller epoch, number). Who asks with a recent position
// gets what changed since, everybody else all keys. Both are keys and values as in the coordination store, so the same
// MetadataImageBuilder makes the same image of them everywhere.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cluster_control/change_signal.h"
#include "cluster_control/metadata_image.h"
#include "coordination_store/coordination_store.h"
#include "foundation/shared_bytes.h"
#include "foundation/status.h"

namespace naru {

struct MetadataKeyChange {
  std::string key;
  std::optional<SharedBytes> value;  // none: the key is gone
  KeyVersion version = 0;
};

struct FeedPosition {
  int32_t controller_epoch = -1;
  int64_t number = -1;

  auto operator<=>(const FeedPosition&) const = default;
};

struct FeedAnswer {
  FeedPosition position;                   // after the changes
  bool full = false;                       // these are all keys there are
  std::vector<MetadataKeyChange> changes;  // each key once
};

// The controller's side. Thread-safe; written by whoever has the controller's turn. Outlives its tasks.
class MetadataFeed {
 public:
  // What is kept of recent changes; who is further behind gets everything.
  static constexpr size_t kMaxPublications = 1000;
  static constexpr size_t kMaxRecentBytes = 4u << 20;

  explicit MetadataFeed(Scheduler& scheduler) : news_(scheduler) {}

  // While the office prepares itself nothing is answered, but the keys are followed.
  void open(int32_t controller_epoch);
  void close();  // and forgets the keys
  // All keys anew; what differs is one publication.
  void replace(const std::vector<KeyValue>& keys);
  void publish(std::vector<MetadataKeyChange> changes);

  // not_controller while it is closed. Without changes when there are none.
  Result<FeedAnswer> changes_since(const FeedPosition& position) const;
  // The same, but waits for changes until the deadline.
  Task<Result<FeedAnswer>> poll(FeedPosition position, MonotonicTime deadline, CancelToken token);

 private:
  struct Stored {
    SharedBytes value;
    KeyVersion version = 0;
  };
  struct Publication {
    std::vector<MetadataKeyChange> changes;
    size_t bytes = 0;
  };

  void record(std::vector<MetadataKeyChange> changes);
  FeedAnswer everything() const;
  FeedAnswer recent(int64_t after) const;

  ChangeSignal news_;
  mutable std::mutex mutex_;
  std::optional<int32_t> controller_epoch_;  // none: closed
  std::map<std::string, Stored, std::less<>> keys_;
  int64_t number_ = 0;              // of the newest publication
  std::deque<Publication> recent_;  // the last of them has number_
  size_t recent_bytes_ = 0;
};

// The other side: an image that follows a feed. Not thread-safe.
class MetadataFollower {
 public:
  const FeedPosition& position() const { return position_; }
  const MetadataImagePtr& image() const { return image_; }

  // The answer to a request that was sent with `asked_from`. False: it is older than the image, or a change of another
  // image, and is ignored. corrupt_data when it makes no image: ask for everything (forget()).
  Result<bool> apply(const FeedPosition& asked_from, const FeedAnswer& answer);
  // The next request asks for everything. The image stays.
  void forget_position() { position_ = {}; }

 private:
  FeedPosition position_;
  FeedPosition newest_;  // of image_: nothing older is taken
  MetadataImagePtr image_ = std::make_shared<const MetadataImage>();
};

}  // namespace naru
