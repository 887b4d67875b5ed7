// The metadata in the coordination store as one controller knows it: reads it, commits to it, keeps the image of it.
//
// After a conflict it reads again no more than it must: as long as the controller epoch is the one it knows, only
// brokers that register and sessions that end can have changed anything, so only what they write is listed. Everything
// is read at the first time, when the outcome of a commit of its own is unknown, and when there is another controller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cluster_control/metadata_feed.h"
#include "cluster_control/metadata_image.h"
#include "coordination_store/coordination_store.h"

namespace naru {

// Not thread-safe: used by whoever has the controller's turn. The feed outlives it.
class StoredImage {
 public:
  explicit StoredImage(MetadataFeed& feed) : feed_(feed) {}

  // Forgets what it knows. The store outlives the use of it.
  void use(CoordinationStore& store);
  CoordinationStore& store() { return *store_; }

  const MetadataImagePtr& image() const { return image_; }
  // Brings the image up to date if anything may have happened since. Changes of the image are in the feed then.
  Task<Status> catch_up();
  // A commit of unknown outcome has not happened as far as the image knows, and still can.
  bool own_commit_may_come() const;
  // Somebody else may have written: what catch_up() did is not enough any more.
  void suspect_changes();
  // The image with the transaction's changes, or version_conflict, unavailable, ... as the store has it.
  Task<Status> commit(Transaction transaction);

 private:
  struct Listing {
    std::vector<KeyValue> entries;
    std::optional<KeyValue> generation;
  };
  enum class Knowledge : uint8_t { nothing, all_but_brokers, current };

  Task<Status> read_everything();
  Task<Status> read_brokers();
  Task<Result<Listing>> list_consistently(std::vector<std::string> folders);
  Result<std::vector<MetadataKeyChange>> broker_changes(const std::vector<KeyValue>& entries) const;
  Status adopt(std::vector<MetadataKeyChange> changes);

  MetadataFeed& feed_;
  CoordinationStore* store_ = nullptr;
  MetadataImagePtr image_ = std::make_shared<const MetadataImage>();
  Knowledge knowledge_ = Knowledge::nothing;
  // The version of `generation` that a commit of unknown outcome compared: as long as it is that, it may still happen.
  std::optional<KeyVersion> doubtful_generation_;
};

}  // namespace naru
