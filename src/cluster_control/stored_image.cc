#include "cluster_control/stored_image.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/metadata_keys.h"

namespace naru {
namespace {

constexpr int kMaxListings = 5;

KeyVersion version_of(const std::optional<KeyValue>& found) {
  return found ? found->version : 0;
}

Result<MetadataImagePtr> image_of(const std::vector<KeyValue>& entries) {
  const MetadataImage nothing;
  MetadataImageBuilder builder(nothing);
  for (const KeyValue& entry : entries) NARU_TRY(builder.put(entry.key, entry.value.view(), entry.version));
  return builder.build();
}

}  // namespace

void StoredImage::use(CoordinationStore& store) {
  store_ = &store;
  knowledge_ = Knowledge::nothing;
  doubtful_generation_.reset();
}

Task<Status> StoredImage::catch_up() {
  if (knowledge_ == Knowledge::current) co_return Status();
  if (knowledge_ == Knowledge::nothing || own_commit_may_come()) co_return co_await read_everything();
  co_return co_await read_brokers();
}

void StoredImage::suspect_changes() {
  knowledge_ = std::min(knowledge_, Knowledge::all_but_brokers);
}

bool StoredImage::own_commit_may_come() const {
  return doubtful_generation_ && *doubtful_generation_ == image_->generation_version();
}

Task<Status> StoredImage::commit(Transaction transaction) {
  knowledge_ = Knowledge::nothing;
  auto versions = co_await store_->commit(transaction);
  if (!versions) {
    const Status& status = versions.error();
    const bool nothing_happened = status == ErrorCode::disk_full || status == ErrorCode::version_conflict;
    if (status == ErrorCode::disk_full) knowledge_ = Knowledge::current;
    if (status == ErrorCode::version_conflict) knowledge_ = Knowledge::all_but_brokers;
    if (!nothing_happened) doubtful_generation_ = image_->generation_version();
    co_return status;
  }
  std::vector<MetadataKeyChange> changes;
  for (size_t i = 0; i < transaction.puts.size(); ++i) {
    Put& put = transaction.puts[i];
    if (put.key == metadata_keys::kController) continue;
    changes.push_back({std::move(put.key), SharedBytes(std::move(put.value)), (*versions)[i]});
  }
  for (std::string& key : transaction.deletes) {
    if (key != metadata_keys::kController) changes.push_back({std::move(key), std::nullopt, 0});
  }
  co_return adopt(std::move(changes));
}

// The changes happened: the next image is the one before with them.
Status StoredImage::adopt(std::vector<MetadataKeyChange> changes) {
  knowledge_ = Knowledge::nothing;
  MetadataImageBuilder builder(*image_);
  for (const MetadataKeyChange& change : changes) {
    if (change.value) {
      NARU_TRY(builder.put(change.key, change.value->view(), change.version));
    } else {
      NARU_TRY(builder.remove(change.key));
    }
  }
  NARU_TRY_ASSIGN(image_, builder.build());
  knowledge_ = Knowledge::current;
  feed_.publish(std::move(changes));
  return {};
}

Task<Status> StoredImage::read_everything() {
  NARU_CO_TRY_ASSIGN(Listing listing, co_await list_consistently({""}));
  std::erase_if(listing.entries, [](const KeyValue& entry) { return entry.key == metadata_keys::kController; });
  const int32_t epoch = image_->cluster().controller_epoch;
  NARU_CO_TRY_ASSIGN(image_, image_of(listing.entries));
  if (image_->cluster().controller_epoch != epoch) feed_.close();  // nobody follows another office through this one
  knowledge_ = Knowledge::current;
  feed_.replace(listing.entries);
  co_return Status();
}

// The epoch is read last: if another controller had written anything before the listing, its epoch would be seen.
Task<Status> StoredImage::read_brokers() {
  std::vector<std::string> folders{std::string(metadata_keys::kBrokers), std::string(metadata_keys::kKnownBrokers)};
  NARU_CO_TRY_ASSIGN(const Listing listing, co_await list_consistently(std::move(folders)));
  NARU_CO_TRY_ASSIGN(const auto epoch, co_await store_->get(std::string(metadata_keys::kControllerEpoch)));
  if (version_of(epoch) != image_->controller_epoch_version()) co_return co_await read_everything();
  NARU_CO_TRY_ASSIGN(auto changes, broker_changes(listing.entries));
  if (version_of(listing.generation) != image_->generation_version()) {
    changes.push_back({listing.generation->key, listing.generation->value, listing.generation->version});
  }
  if (!changes.empty()) co_return adopt(std::move(changes));
  knowledge_ = Knowledge::current;
  co_return Status();
}

// What differs between the image and a listing of brokers/ and known_brokers/.
Result<std::vector<MetadataKeyChange>> StoredImage::broker_changes(const std::vector<KeyValue>& entries) const {
  NARU_TRY_ASSIGN(const MetadataImagePtr listed, image_of(entries));
  std::vector<MetadataKeyChange> changes;
  const auto add = [&](const std::string& key) {
    const auto entry = std::ranges::find(entries, key, &KeyValue::key);
    changes.push_back({entry->key, entry->value, entry->version});
  };
  for (const auto& [id, broker] : listed->brokers()) {
    const BrokerMetadata* before = image_->find_broker(id);
    if (before == nullptr || *before != broker) add(metadata_keys::broker(id));
  }
  for (const auto& [id, known] : listed->known_brokers()) {
    const auto before = image_->known_brokers().find(id);
    if (before == image_->known_brokers().end() || before->second != known) add(metadata_keys::known_broker(id));
  }
  for (const auto& [id, broker] : image_->brokers()) {
    if (listed->find_broker(id) == nullptr) changes.push_back({metadata_keys::broker(id), std::nullopt, 0});
  }
  for (const auto& [id, known] : image_->known_brokers()) {
    if (!listed->known_brokers().contains(id)) changes.push_back({metadata_keys::known_broker(id), std::nullopt, 0});
  }
  return changes;
}

// A listing need not be one moment; it is when no transaction happened meanwhile, and every one changes the generation.
// Keys of sessions that ended meanwhile may or may not be in it.
Task<Result<StoredImage::Listing>> StoredImage::list_consistently(std::vector<std::string> folders) {
  const std::string key(metadata_keys::kGeneration);
  for (int attempt = 0; attempt < kMaxListings; ++attempt) {
    NARU_CO_TRY_ASSIGN(const auto before, co_await store_->get(key));
    std::vector<KeyValue> entries;
    for (const std::string& folder : folders) {
      NARU_CO_TRY_ASSIGN(auto listed, co_await store_->list(folder));
      std::ranges::move(listed, std::back_inserter(entries));
    }
    NARU_CO_TRY_ASSIGN(auto after, co_await store_->get(key));
    if (version_of(before) == version_of(after)) co_return Listing{std::move(entries), std::move(after)};
  }
  co_return failure(ErrorCode::version_conflict, "the metadata changed during {} listings", kMaxListings);
}

}  // namespace naru
