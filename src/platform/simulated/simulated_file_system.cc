#include "platform/simulated/simulated_file_system.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "foundation/assert.h"
#include "platform/simulated/simulated_file_system_state.h"

namespace naru {
namespace {

SimulatedInode& existing_file(const NameTree& tree, const std::string& path) {
  const auto inode = tree.find(path);
  NARU_ASSERT(inode.has_value(), "{} is asked for by hand, but is not there", path);
  NARU_ASSERT(!(*inode)->is_directory, "{} is a folder", path);
  return **inode;
}

}  // namespace

SimulatedFileSystem::SimulatedFileSystem(Random& random) : state_(std::make_shared<State>(random)) {}
SimulatedFileSystem::~SimulatedFileSystem() {
  state_->forget_process();
  state_->dead = true;
}

std::unique_ptr<SimulatedFileSystem> SimulatedFileSystem::clone(Random& random) const {
  auto copy = std::make_unique<SimulatedFileSystem>(random);
  copy->state_->tree = state_->tree.clone();
  return copy;
}

void SimulatedFileSystem::crash(Unsynced unsynced) {
  state_->forget_process();
  state_->tree.crash(unsynced, state_->survivors, state_->random);
}
void SimulatedFileSystem::set_reorders_names(bool reorders) {
  state_->survivors = reorders ? NameTree::Survivors::any : NameTree::Survivors::first_ones;
}

void SimulatedFileSystem::kill() {
  state_->forget_process();
}
void SimulatedFileSystem::wipe() {
  state_->forget_process();
  state_->tree = NameTree();
}
void SimulatedFileSystem::die_after(uint64_t mutations) {
  state_->mutations_left = mutations;
}
bool SimulatedFileSystem::is_dead() const {
  return state_->dead;
}
uint64_t SimulatedFileSystem::mutations() const {
  return state_->mutations;
}

void SimulatedFileSystem::set_fault_rate(FileOperation operation, uint64_t one_in) {
  state_->fault_rates[static_cast<size_t>(operation)] = one_in;
}
void SimulatedFileSystem::fail_nth(FileOperation operation, uint64_t nth, std::string path_part, ErrorCode code) {
  NARU_ASSERT(nth > 0, "calls are counted from 1");
  state_->planned_faults.push_back({operation, nth, std::move(path_part), code});
}
void SimulatedFileSystem::clear_faults() {
  state_->clear_faults();
}
void SimulatedFileSystem::set_capacity(uint64_t bytes) {
  state_->capacity = bytes;
}
void SimulatedFileSystem::set_room_for_files(bool room) {
  state_->room_for_files = room;
}
void SimulatedFileSystem::set_open_file_limit(uint64_t files) {
  state_->open_file_limit = files;
}
uint64_t SimulatedFileSystem::open_file_limit() const {
  return state_->open_file_limit;
}
void SimulatedFileSystem::fail_write_back(const std::string& path) {
  SimulatedInode& file = existing_file(state_->tree, path);
  file.content.fail_sync();
  ++file.write_back_failures;
}
void SimulatedFileSystem::set_cold_rate(uint64_t one_in) {
  state_->cold_rate = one_in;
}
void SimulatedFileSystem::set_clock(const Clock* clock) {
  state_->clock = clock;
}

Bytes SimulatedFileSystem::content(const std::string& path) const {
  return existing_file(state_->tree, path).content.cached().bytes();
}
Bytes SimulatedFileSystem::durable_content(const std::string& path) const {
  return existing_file(state_->tree, path).content.durable().bytes();
}
void SimulatedFileSystem::flip_bit(const std::string& path, uint64_t position, unsigned bit) {
  existing_file(state_->tree, path).content.flip_bit(position, bit);
}
void SimulatedFileSystem::cut(const std::string& path, uint64_t size) {
  existing_file(state_->tree, path).content.cut(size);
}
struct SimulatedFileSystem::Snapshot {
  NameTree::Inode inode;
};
std::shared_ptr<const SimulatedFileSystem::Snapshot> SimulatedFileSystem::snapshot(const std::string& path) const {
  auto inode = state_->tree.copy(path);
  return inode ? std::make_shared<const Snapshot>(std::move(inode)) : nullptr;
}
void SimulatedFileSystem::restore(const std::string& path, const std::shared_ptr<const Snapshot>& snapshot) {
  state_->tree.put(path, snapshot ? snapshot->inode : nullptr);
}
std::vector<std::string> SimulatedFileSystem::files_below(const std::string& directory) const {
  std::vector<std::string> files;
  const auto inode = state_->tree.find_directory(directory);
  if (!inode) return files;
  for (const auto& [name, child] : (*inode)->names) {
    const std::string path = directory + "/" + name;
    if (!child->is_directory) {
      files.push_back(path);
    } else {
      std::ranges::move(files_below(path), std::back_inserter(files));
    }
  }
  return files;
}
uint64_t SimulatedFileSystem::open_files() const {
  return state_->open_files;
}
void SimulatedFileSystem::set_trace(UniqueFunction<void(FileOperation, const std::string&, uint64_t)> trace) {
  state_->trace = std::move(trace);
}

Result<std::shared_ptr<File>> SimulatedFileSystem::open(const std::string& path, OpenMode mode) {
  if (state_->open_files >= state_->open_file_limit) {
    return failure(ErrorCode::too_many_open_files, "{}: too many open files", path);
  }
  auto inode = state_->tree.find(path);
  if (!inode && inode.error().code() != ErrorCode::not_found) return failure(inode.error());
  const bool may_create = mode == OpenMode::create || mode == OpenMode::create_new;
  if (inode && (*inode)->is_directory) return failure(ErrorCode::io_error, "{}: is a directory", path);
  if (inode && mode == OpenMode::create_new) return failure(ErrorCode::already_exists, "{}: exists", path);

  const FileOperation operation = !inode && may_create ? FileOperation::create : FileOperation::open;
  const State::Verdict verdict = state_->judge(operation, path);
  if (!verdict.status.ok() && !verdict.takes_effect) return failure(verdict.status);
  if (!inode && may_create) inode = state_->tree.create(path, false);
  if (!verdict.status.ok()) return failure(verdict.status);
  if (!inode) return failure(inode.error());
  state_->note(operation, path);
  return std::make_shared<OpenFile>(state_, *inode, path, mode != OpenMode::read);
}

Result<bool> SimulatedFileSystem::exists(const std::string& path) {
  NARU_TRY(state_->permit(FileOperation::list, path));
  const auto inode = state_->tree.find(path);
  if (inode) return true;
  if (inode.error() == ErrorCode::not_found) return false;
  return failure(inode.error());
}

Result<std::vector<DirectoryEntry>> SimulatedFileSystem::list(const std::string& directory) {
  NARU_TRY(state_->permit(FileOperation::list, directory));
  NARU_TRY_ASSIGN(const auto inode, state_->tree.find_directory(directory));
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, child] : inode->names) entries.push_back({name, child->is_directory});
  state_->note(FileOperation::list, directory, entries.size());
  return entries;
}

Status SimulatedFileSystem::create_directories(const std::string& directory) {
  NARU_TRY(state_->permit(FileOperation::list, directory));
  for (size_t end = 0; end != std::string::npos;) {
    end = directory.find('/', end + 1);
    const std::string path = directory.substr(0, end);
    const auto existing = state_->tree.find(path);
    if (existing) {
      if (!(*existing)->is_directory) return error(ErrorCode::already_exists, "{}: not a directory", path);
      continue;
    }
    const State::Verdict verdict = state_->judge(FileOperation::create_directory, path);
    if (verdict.takes_effect) {
      const auto created = state_->tree.create(path, true);
      if (!created) return created.error();
    }
    NARU_TRY(verdict.status);
    state_->note(FileOperation::create_directory, path);
  }
  return Status();
}

Status SimulatedFileSystem::rename(const std::string& from, const std::string& to) {
  const State::Verdict verdict = state_->judge(FileOperation::rename, from);
  if (verdict.takes_effect) NARU_TRY(state_->tree.rename(from, to));
  NARU_TRY(verdict.status);
  state_->note(FileOperation::rename, from + " " + to);
  return Status();
}

Status SimulatedFileSystem::remove_file(const std::string& path) {
  return remove(path, false);
}
Status SimulatedFileSystem::remove_directory(const std::string& directory) {
  return remove(directory, true);
}

Status SimulatedFileSystem::remove(const std::string& path, bool is_directory) {
  const State::Verdict verdict = state_->judge(FileOperation::remove, path);
  if (verdict.takes_effect) NARU_TRY(state_->tree.remove(path, is_directory));
  NARU_TRY(verdict.status);
  state_->note(FileOperation::remove, path);
  return Status();
}

Status SimulatedFileSystem::sync_directory(const std::string& directory) {
  NARU_TRY(state_->permit(FileOperation::sync_directory, directory));
  NARU_TRY_ASSIGN(const auto inode, state_->tree.find_directory(directory));
  state_->tree.sync(inode);
  state_->note(FileOperation::sync_directory, directory);
  return Status();
}

Result<DiskSpace> SimulatedFileSystem::space(const std::string& directory) {
  NARU_TRY(state_->permit(FileOperation::list, directory));
  NARU_TRY_ASSIGN(const auto inode, state_->tree.find(directory));
  const uint64_t used = state_->used_bytes();
  return DiskSpace{.total_bytes = state_->capacity, .free_bytes = state_->capacity - std::min(used, state_->capacity)};
}

Result<std::unique_ptr<DirectoryLock>> SimulatedFileSystem::lock_directory(const std::string& directory) {
  NARU_TRY(state_->permit(FileOperation::open, directory));
  NARU_TRY_ASSIGN(const auto inode, state_->tree.find_directory(directory));
  if (!state_->locked.insert(inode).second) {
    return failure(ErrorCode::already_exists, "{} is in use by another process", directory);
  }
  return std::make_unique<HeldLock>(state_, inode);
}

}  // namespace naru
