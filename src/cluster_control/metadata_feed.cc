#include "cluster_control/metadata_feed.h"

#include <algorithm>
#include <utility>

#include "cluster_control/metadata_image_builder.h"

namespace naru {
namespace {

size_t size_of_change(const MetadataKeyChange& change) {
  return change.key.size() + (change.value ? change.value->size() : 0) + sizeof(MetadataKeyChange);
}

bool same_value(BytesView a, BytesView b) {
  return std::ranges::equal(a, b);
}

}  // namespace

void MetadataFeed::open(int32_t controller_epoch) {
  {
    const std::scoped_lock lock(mutex_);
    controller_epoch_ = controller_epoch;
  }
  news_.notify();
}

void MetadataFeed::close() {
  {
    const std::scoped_lock lock(mutex_);
    controller_epoch_.reset();
    keys_.clear();
    recent_.clear();
    recent_bytes_ = 0;
  }
  news_.notify();
}

void MetadataFeed::replace(const std::vector<KeyValue>& keys) {
  {
    const std::scoped_lock lock(mutex_);
    std::vector<MetadataKeyChange> changes;
    std::map<std::string_view, const KeyValue*> wanted;
    for (const KeyValue& entry : keys) {
      wanted.emplace(entry.key, &entry);
      const auto old = keys_.find(entry.key);
      const bool same = old != keys_.end() && old->second.version == entry.version &&
                        same_value(old->second.value.view(), entry.value.view());
      if (!same) changes.push_back({entry.key, entry.value, entry.version});
    }
    for (const auto& [key, stored] : keys_) {
      if (!wanted.contains(key)) changes.push_back({key, std::nullopt, 0});
    }
    if (!changes.empty()) record(std::move(changes));
  }
  news_.notify();
}

void MetadataFeed::publish(std::vector<MetadataKeyChange> changes) {
  if (changes.empty()) return;
  {
    const std::scoped_lock lock(mutex_);
    record(std::move(changes));
  }
  news_.notify();
}

void MetadataFeed::record(std::vector<MetadataKeyChange> changes) {
  Publication publication;
  for (const MetadataKeyChange& change : changes) {
    publication.bytes += size_of_change(change);
    if (change.value) {
      keys_.insert_or_assign(change.key, Stored{*change.value, change.version});
    } else {
      keys_.erase(change.key);
    }
  }
  publication.changes = std::move(changes);
  ++number_;
  recent_bytes_ += publication.bytes;
  recent_.push_back(std::move(publication));
  while (recent_.size() > kMaxPublications || recent_bytes_ > kMaxRecentBytes) {
    recent_bytes_ -= recent_.front().bytes;
    recent_.pop_front();
  }
}

Result<FeedAnswer> MetadataFeed::changes_since(const FeedPosition& position) const {
  const std::scoped_lock lock(mutex_);
  if (!controller_epoch_) return failure(ErrorCode::not_controller, "this broker is not the controller");
  const int64_t oldest_base = number_ - static_cast<int64_t>(recent_.size());
  const bool is_recent =
      position.controller_epoch == *controller_epoch_ && position.number >= oldest_base && position.number <= number_;
  return is_recent ? recent(position.number) : everything();
}

FeedAnswer MetadataFeed::everything() const {
  FeedAnswer answer{.position = {*controller_epoch_, number_}, .full = true};
  answer.changes.reserve(keys_.size());
  for (const auto& [key, stored] : keys_) answer.changes.push_back({key, stored.value, stored.version});
  return answer;
}

// The newest change of each key counts.
FeedAnswer MetadataFeed::recent(int64_t after) const {
  FeedAnswer answer{.position = {*controller_epoch_, number_}};
  std::map<std::string_view, const MetadataKeyChange*> newest;
  for (auto at = recent_.end() - (number_ - after); at != recent_.end(); ++at) {
    for (const MetadataKeyChange& change : at->changes) newest.insert_or_assign(change.key, &change);
  }
  for (const auto& [key, change] : newest) answer.changes.push_back(*change);
  return answer;
}

Task<Result<FeedAnswer>> MetadataFeed::poll(FeedPosition position, MonotonicTime deadline, CancelToken token) {
  const uint64_t seen = news_.count();
  auto answer = changes_since(position);
  if (!answer || answer->full || !answer->changes.empty()) co_return answer;
  co_await news_.wait_beyond(seen, deadline, token);
  co_return changes_since(position);
}

Result<bool> MetadataFollower::apply(const FeedPosition& asked_from, const FeedAnswer& answer) {
  if (answer.position < newest_) return false;
  if (!answer.full && (asked_from != position_ || answer.position.controller_epoch != position_.controller_epoch)) {
    return false;
  }
  const MetadataImage nothing;
  MetadataImageBuilder builder(answer.full ? nothing : *image_);
  for (const MetadataKeyChange& change : answer.changes) {
    if (change.value) {
      NARU_TRY(builder.put(change.key, change.value->view(), change.version));
    } else {
      NARU_TRY(builder.remove(change.key));
    }
  }
  NARU_TRY_ASSIGN(image_, builder.build());
  position_ = newest_ = answer.position;
  return true;
}

}  // namespace naru
