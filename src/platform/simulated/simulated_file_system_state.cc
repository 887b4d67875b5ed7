#include "platform/simulated/simulated_file_system_state.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace naru {
namespace {

// Far beyond any file of ours, and small enough for sums not to wrap.
constexpr uint64_t kFileBytesMax = uint64_t{1} << 50;

}  // namespace

SimulatedFileSystem::State::Verdict SimulatedFileSystem::State::judge(FileOperation operation,
                                                                      const std::string& path) {
  if (dead) return {error(ErrorCode::io_error, "{}: the machine is gone", path), false, true};
  if (is_mutation(operation)) {
    ++mutations;
    if (mutations_left == 0) {
      dead = true;
      return {error(ErrorCode::io_error, "{}: the machine died", path), random.one_in(2), true};
    }
    if (mutations_left != std::numeric_limits<uint64_t>::max()) --mutations_left;
  }
  for (PlannedFault& fault : planned_faults) {
    const bool matches = fault.operation == operation && path.find(fault.path_part) != std::string::npos;
    if (!matches || fault.calls_left == 0 || --fault.calls_left > 0) continue;
    return {error(fault.code, "{}: planned fault", path), random.one_in(2), false};
  }
  const bool creates = operation == FileOperation::create || operation == FileOperation::create_directory;
  if (creates && !room_for_files) return {error(ErrorCode::disk_full, "{}: no room for names", path), false, false};
  const uint64_t rate = fault_rates[static_cast<size_t>(operation)];
  if (rate > 0 && random.one_in(rate)) {
    return {error(ErrorCode::io_error, "{}: random fault", path), random.one_in(2), false};
  }
  return {};
}

void SimulatedFileSystem::State::forget_process() {
  ++generation;
  open_files = 0;
  locked.clear();
  dead = false;
  mutations_left = std::numeric_limits<uint64_t>::max();
}

void SimulatedFileSystem::State::clear_faults() {
  fault_rates.fill(0);
  planned_faults.clear();
}

uint64_t SimulatedFileSystem::State::used_bytes() const {
  uint64_t used = 0;
  tree.for_each_file([&used](SimulatedInode& file) { used += file.content.cached().allocated_bytes(); });
  return used;
}

SimulatedFileSystem::OpenFile::OpenFile(std::shared_ptr<State> state, NameTree::Inode inode, std::string path,
                                        bool writable)
    : state_(std::move(state)),
      inode_(std::move(inode)),
      path_(std::move(path)),
      writable_(writable),
      generation_(state_->generation),
      known_failures_(inode_->write_back_failures) {
  ++state_->open_files;
}

SimulatedFileSystem::OpenFile::~OpenFile() {
  if (state_->generation == generation_) --state_->open_files;
}

Status SimulatedFileSystem::OpenFile::check_usable(bool for_writing) const {
  if (state_->generation != generation_) return error(ErrorCode::io_error, "{}: stale handle", path_);
  if (for_writing && !writable_) return error(ErrorCode::io_error, "{}: not open for writing", path_);
  return Status();
}

Result<size_t> SimulatedFileSystem::OpenFile::read_at(uint64_t position, MutableBytesView to) const {
  NARU_TRY(check_usable(false));
  NARU_TRY(state_->permit(FileOperation::read, path_));
  const size_t bytes = inode_->content.read(position, to);
  state_->note(FileOperation::read, path_, bytes);
  return bytes;
}

Status SimulatedFileSystem::OpenFile::write_at(uint64_t position, std::span<const BytesView> parts) {
  NARU_TRY(check_usable(true));
  uint64_t wanted = 0;
  for (const BytesView part : parts) wanted += part.size();
  if (position > kFileBytesMax || wanted > kFileBytesMax) return error(ErrorCode::io_error, "{}: too large", path_);

  State::Verdict verdict = state_->judge(FileOperation::write, path_);
  uint64_t room = wanted;
  if (!verdict.status.ok()) room = verdict.takes_effect ? state_->random.below(wanted + 1) : 0;
  if (state_->capacity != std::numeric_limits<uint64_t>::max() && verdict.status.ok()) {
    const uint64_t used = state_->used_bytes();
    while (room > 0 && used + inode_->content.cached().allocation_for(position, room) > state_->capacity) {
      room -= std::min(room, SparseContent::kBlockBytes);
      verdict.status = error(ErrorCode::disk_full, "{}: no space left on device", path_);
    }
  }

  uint64_t written = 0;
  for (const BytesView part : parts) {
    const BytesView fits = part.first(std::min<uint64_t>(part.size(), room - written));
    inode_->content.write(position + written, fits);
    written += fits.size();
  }
  if (written > 0) inode_->modified_ms = state_->now_ms();
  if (verdict.status.ok()) state_->note(FileOperation::write, path_, written);
  return verdict.status;
}

Result<uint64_t> SimulatedFileSystem::OpenFile::size() const {
  NARU_TRY(check_usable(false));
  NARU_TRY(state_->permit(FileOperation::list, path_));
  return inode_->content.size();
}

Status SimulatedFileSystem::OpenFile::truncate(uint64_t size) {
  NARU_TRY(check_usable(true));
  if (size > kFileBytesMax) return error(ErrorCode::io_error, "{}: too large", path_);
  const State::Verdict verdict = state_->judge(FileOperation::truncate, path_);
  if (verdict.takes_effect) {
    inode_->content.truncate(size);
    inode_->modified_ms = state_->now_ms();
  }
  NARU_TRY(verdict.status);
  state_->note(FileOperation::truncate, path_, size);
  return Status();
}

Result<WallTimeMs> SimulatedFileSystem::OpenFile::modified_ms() const {
  NARU_TRY(check_usable(false));
  NARU_TRY(state_->permit(FileOperation::list, path_));
  return inode_->modified_ms;
}

Status SimulatedFileSystem::OpenFile::set_modified_ms(WallTimeMs time) {
  NARU_TRY(check_usable(true));
  NARU_TRY(state_->permit(FileOperation::list, path_));
  inode_->modified_ms = time;
  return Status();
}

Status SimulatedFileSystem::OpenFile::sync_data() {
  NARU_TRY(check_usable(false));
  const State::Verdict verdict = state_->judge(FileOperation::sync_data, path_);
  if (!verdict.status.ok()) {
    if (!verdict.machine_is_gone) inode_->content.fail_sync();
    return verdict.status;
  }
  if (std::exchange(known_failures_, inode_->write_back_failures) != inode_->write_back_failures) {
    return error(ErrorCode::io_error, "{}: a write-back has failed", path_);
  }
  inode_->content.sync();
  inode_->durable_modified_ms = inode_->modified_ms;
  state_->note(FileOperation::sync_data, path_);
  return Status();
}

bool SimulatedFileSystem::OpenFile::is_cached(uint64_t, uint64_t) const {
  return state_->generation != generation_ || state_->cold_rate == 0 || !state_->random.one_in(state_->cold_rate);
}

SimulatedFileSystem::HeldLock::HeldLock(std::shared_ptr<State> state, NameTree::Inode directory)
    : state_(std::move(state)), directory_(std::move(directory)), generation_(state_->generation) {}

SimulatedFileSystem::HeldLock::~HeldLock() {
  if (state_->generation == generation_) state_->locked.erase(directory_);
}

}  // namespace naru
