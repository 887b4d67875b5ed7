#include "log_storage/log_directory.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "foundation/log.h"
#include "log_storage/directory_identity.h"
#include "log_storage/partition_folder.h"

namespace naru {
namespace {

constexpr std::string_view kCleanShutdownName = "clean-shutdown";
constexpr std::string_view kNewSuffix = "-new";
constexpr std::string_view kDeleteSuffix = "-delete";
constexpr size_t kMaxNameLength = 255;  // of a file, on every file system we know

// What a fresh file system, a crashed first start or the lock may have put into a folder that is otherwise empty.
bool may_be_in_an_empty_folder(std::string_view name) {
  return name == "lost+found" || name == ".lock" || name == fmt::format("{}.tmp", kIdentityFileName);
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// With the names of all folders that had to be created: a sync inside of a folder whose own name gets lost is
// worthless.
Status create_durably(FileSystem& file_system, const std::string& path) {
  std::vector<std::string> parents;
  for (std::string missing = path;; missing = parents.back()) {
    NARU_TRY_ASSIGN(const bool exists, file_system.exists(missing));
    if (exists) break;
    parents.push_back(parent_of(missing));
  }
  NARU_TRY(file_system.create_directories(path));
  for (const std::string& parent : parents) NARU_TRY(file_system.sync_directory(parent));
  return Status();
}

// "<topic>-<n>.<id>-delete"; long topic names are cut so that the name fits. Nobody reads the topic from it.
std::string aside_name(std::string_view topic, PartitionIndex partition, const Uuid& topic_id,
                       std::string_view suffix) {
  const std::string rest = fmt::format("-{}.{}{}", partition, topic_id.to_string(), suffix);
  return fmt::format("{}{}", topic.substr(0, kMaxNameLength - rest.size()), rest);
}

bool is_aside_name(std::string_view name) {
  for (const std::string_view suffix : {kNewSuffix, kDeleteSuffix}) {
    if (!name.ends_with(suffix)) continue;
    const std::string_view rest = name.substr(0, name.size() - suffix.size());
    const size_t dot = rest.rfind('.');
    return dot != std::string_view::npos && Uuid::parse(rest.substr(dot + 1)).has_value() &&
           parse_partition_folder_name(rest.substr(0, dot)).has_value();
  }
  return false;
}

}  // namespace

std::string partition_folder_name(std::string_view topic, PartitionIndex partition) {
  return fmt::format("{}-{}", topic, partition);
}

std::optional<std::pair<std::string, PartitionIndex>> parse_partition_folder_name(std::string_view name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view digits = name.substr(dash + 1);
  int32_t partition = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), partition);
  if (problem != std::errc() || end != digits.data() + digits.size() || partition < 0) return std::nullopt;
  // Only the one spelling that partition_folder_name() gives: not "t-01".
  if (fmt::format("{}", partition) != digits) return std::nullopt;
  return std::pair(std::string(name.substr(0, dash)), PartitionIndex(partition));
}

LogDirectory::LogDirectory(FileSystem& file_system, std::string path, std::unique_ptr<DirectoryLock> lock)
    : file_system_(file_system), path_(std::move(path)), lock_(std::move(lock)) {}

Result<std::unique_ptr<LogDirectory>> LogDirectory::open(FileSystem& file_system, std::string path, BrokerId node_id,
                                                         Random& random) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  NARU_TRY(create_durably(file_system, path));
  auto lock = file_system.lock_directory(path);
  if (!lock && lock.error() == ErrorCode::already_exists) {
    return failure(ErrorCode::already_exists,
                   "The data folder {} is in use by another running broker. Stop that one, or give this one its own "
                   "folder (log.dirs).",
                   path);
  }
  if (!lock) return failure(std::move(lock).error());
  std::unique_ptr<LogDirectory> directory(new LogDirectory(file_system, std::move(path), std::move(*lock)));
  NARU_TRY(directory->load_or_create_identity(node_id, random));
  NARU_TRY(directory->read_manifest());
  NARU_TRY(directory->raise_data_format());
  NARU_TRY(directory->consume_clean_shutdown_mark());
  NARU_TRY(directory->remove_leftovers());
  return directory;
}

Status LogDirectory::load_or_create_identity(BrokerId node_id, Random& random) {
  auto content = read_whole_file(file_system_, path_ + "/" + std::string(kIdentityFileName), kMaxIdentityFileBytes);
  if (!content && content.error() == ErrorCode::not_found) {
    NARU_TRY(refuse_if_foreign());
    identity_ = {.node_id = node_id, .directory_id = random.uuid(), .data_format = kDataFormatVersion};
    return write_identity();
  }
  if (!content) return std::move(content).error();
  NARU_TRY_ASSIGN(identity_, parse_identity(as_text(*content), path_));
  if (identity_.node_id == node_id) return Status();
  return error(ErrorCode::invalid_argument,
               "The data folder {} belongs to node.id {}, but this broker was started as node.id {}. Start it with "
               "node.id={}, or give it another folder (log.dirs).",
               path_, identity_.node_id, node_id, identity_.node_id);
}

Status LogDirectory::refuse_if_foreign() {
  NARU_TRY_ASSIGN(const auto entries, file_system_.list(path_));
  std::string found;
  size_t count = 0;
  for (const DirectoryEntry& entry : entries) {
    if (may_be_in_an_empty_folder(entry.name)) continue;
    ++count;
    if (count <= 3) found += fmt::format("{}'{}'", count == 1 ? "" : ", ", entry.name);
  }
  if (count == 0) return Status();
  if (count > 3) found += fmt::format(" and {} more", count - 3);
  return error(ErrorCode::unsupported_format,
               "The folder {} is not empty and is not a Naru data folder: it holds {}, but no {}. Give an empty or new "
               "folder (log.dirs), or move these files away.",
               path_, found, kIdentityFileName);
}

Status LogDirectory::write_identity() {
  return replace_file(file_system_, path_, std::string(kIdentityFileName), as_bytes(format_identity(identity_)));
}

Status LogDirectory::raise_data_format() {
  const int32_t found = std::exchange(identity_.data_format, kDataFormatVersion);
  if (found == kDataFormatVersion) return Status();
  log_info("log_storage", "{} has data format {} and gets format {}: earlier versions of Naru cannot use it any more",
           path_, found, kDataFormatVersion);
  return write_identity();
}

Status LogDirectory::read_manifest() {
  NARU_TRY_ASSIGN(manifest_, PartitionManifest::open(file_system_, path_));
  if (manifest_->exists() || identity_.broker_epoch < 0) return Status();
  return error(ErrorCode::corrupt_data,
               "{}/{} is missing, which says which partitions have to be in this data folder. Restore it; or, to go on "
               "with the partitions that are found, create it with the line 'version: 1'",
               path_, kManifestFileName);
}

ListedPartitions LogDirectory::listed() const {
  const std::scoped_lock lock(mutex_);
  return manifest_->listed();
}

Status LogDirectory::change_list(const ListedPartitions& added, const std::set<LogId>& removed) {
  const std::scoped_lock lock(mutex_);
  return manifest_->change(added, removed);
}

std::optional<DurableEnd> LogDirectory::durable_end(const LogId& log) const {
  const std::scoped_lock lock(mutex_);
  const auto found = manifest_->ends().find(log);
  return found == manifest_->ends().end() ? std::nullopt : std::optional(found->second);
}

Status LogDirectory::note_durable_ends(const DurableEnds& ends) {
  const std::scoped_lock lock(mutex_);
  return manifest_->note_ends(ends);
}

DirectoryIdentity LogDirectory::identity() const {
  const std::scoped_lock lock(mutex_);
  return identity_;
}

Status LogDirectory::write_broker_epoch(int64_t epoch) {
  const std::scoped_lock lock(mutex_);
  if (!manifest_->exists()) return error(ErrorCode::not_found, "{}/{} was not written yet", path_, kManifestFileName);
  const int64_t before = std::exchange(identity_.broker_epoch, epoch);
  const Status status = write_identity();
  if (!status.ok()) identity_.broker_epoch = before;
  return status;
}

Status LogDirectory::bind_cluster(const Uuid& cluster_id) {
  const std::scoped_lock lock(mutex_);
  if (identity_.cluster_id == cluster_id) return Status();
  if (!identity_.cluster_id.is_zero()) {
    return error(
        ErrorCode::inconsistent_cluster_id,
        "The data folder {} belongs to cluster {}, but this broker is about to join cluster {}. Point the broker "
        "at its own cluster, or give it another folder (log.dirs).",
        path_, identity_.cluster_id.to_string(), cluster_id.to_string());
  }
  identity_.cluster_id = cluster_id;
  const Status status = write_identity();
  if (!status.ok()) identity_.cluster_id = {};
  return status;
}

Status LogDirectory::consume_clean_shutdown_mark() {
  const std::string mark = path_ + "/" + std::string(kCleanShutdownName);
  NARU_TRY_ASSIGN(was_clean_shutdown_, file_system_.exists(mark));
  if (!was_clean_shutdown_) return Status();
  // Durably, before the first append: a mark that survives a crash would vouch for logs that were torn by it.
  NARU_TRY(file_system_.remove_file(mark));
  return file_system_.sync_directory(path_);
}

Status LogDirectory::mark_clean_shutdown() {
  return replace_file(file_system_, path_, std::string(kCleanShutdownName), as_bytes("1\n"));
}

Status LogDirectory::remove_leftovers() {
  NARU_TRY_ASSIGN(const auto entries, file_system_.list(path_));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory || !is_aside_name(entry.name)) continue;
    log_info("log_storage", "removing {}/{}, which was left by an earlier run", path_, entry.name);
    NARU_TRY(remove_recursively(file_system_, path_ + "/" + entry.name));
  }
  return Status();
}

Result<std::vector<PartitionFolder>> LogDirectory::partitions() {
  NARU_TRY_ASSIGN(const auto entries, file_system_.list(path_));
  std::vector<PartitionFolder> folders;
  for (const DirectoryEntry& entry : entries) {
    const auto parsed = parse_partition_folder_name(entry.name);
    if (!entry.is_directory || !parsed) continue;
    const std::string path = path_ + "/" + entry.name;
    auto topic_id = read_partition_topic_id(file_system_, path);
    if (!topic_id && topic_id.error() == ErrorCode::not_found) {
      return failure(
          ErrorCode::corrupt_data,
          "{} looks like the folder of a partition, but has no {}: restore the file, or move the folder away", path,
          kMetadataFileName);
    }
    if (!topic_id) return failure(std::move(topic_id).error());
    folders.push_back({parsed->first, parsed->second, *topic_id, path});
  }
  return folders;
}

Result<std::string> LogDirectory::create_partition(std::string_view topic, PartitionIndex partition,
                                                   const Uuid& topic_id) {
  const std::string path = path_ + "/" + partition_folder_name(topic, partition);
  NARU_TRY_ASSIGN(const bool exists, file_system_.exists(path));
  if (exists) {
    // Ours, when only its last step failed before.
    NARU_TRY_ASSIGN(const Uuid found, read_partition_topic_id(file_system_, path));
    if (found != topic_id) return failure(ErrorCode::already_exists, "{} exists already", path);
    return path;
  }
  // Under another name until it is complete, so that a partition's folder never lacks its identity.
  const std::string aside = path_ + "/" + aside_name(topic, partition, topic_id, kNewSuffix);
  NARU_TRY_ASSIGN(const bool left_over, file_system_.exists(aside));
  if (left_over) NARU_TRY(remove_recursively(file_system_, aside));
  const Status filled = [&]() -> Status {
    NARU_TRY(file_system_.create_directories(aside));
    return fill_new_partition_folder(file_system_, aside, topic_id);
  }();
  if (!filled.ok()) {
    ignore(remove_recursively(file_system_, aside));  // or else the next start does it
    return failure(filled);
  }
  // What counts is whether the name is there: a rename that says it failed may have happened, and the next attempt may
  // be in another data folder.
  const Status renamed = file_system_.rename(aside, path);
  if (renamed.ok() || file_system_.exists(path).value_or(false)) return path;
  return failure(renamed);
}

Result<std::string> LogDirectory::begin_deletion(std::string_view topic, PartitionIndex partition,
                                                 const Uuid& topic_id) {
  const std::string path = path_ + "/" + partition_folder_name(topic, partition);
  NARU_TRY_ASSIGN(const Uuid found, read_partition_topic_id(file_system_, path));
  if (found != topic_id) {
    return failure(ErrorCode::inconsistent_topic_id, "{} belongs to topic id {}, not to {}", path, found.to_string(),
                   topic_id.to_string());
  }
  const std::string aside = path_ + "/" + aside_name(topic, partition, topic_id, kDeleteSuffix);
  NARU_TRY(file_system_.rename(path, aside));
  return aside;
}

Status LogDirectory::finish_deletion(const std::string& path) {
  return remove_recursively(file_system_, path);
}

Status LogDirectory::sync_names() {
  return file_system_.sync_directory(path_);
}

}  // namespace naru
