#include "log_storage/open_files.h"

namespace naru {

Result<std::shared_ptr<File>> OpenFiles::open(const std::string& path, OpenMode mode) {
  if (auto file = find(path)) return file;
  // Outside of the lock: opening may wait for the disk. Two threads may open the same path; the later one wins.
  NARU_TRY_ASSIGN(auto file, file_system_.open(path, mode));
  insert(path, file);
  return file;
}

std::shared_ptr<File> OpenFiles::find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  found->second->interval = interval_;
  return found->second->file;
}

void OpenFiles::insert(const std::string& path, const std::shared_ptr<File>& file) {
  Entries closed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end()) {
    closed.splice(closed.begin(), entries_, found->second);
    by_path_.erase(found);
  }
  entries_.push_front({path, file, interval_});
  by_path_[path] = entries_.begin();
  while (entries_.size() > capacity_) {
    by_path_.erase(entries_.back().path);
    closed.splice(closed.begin(), entries_, std::prev(entries_.end()));
  }
}

void OpenFiles::forget(const std::string& path) {
  Entries closed;
  const std::lock_guard lock(mutex_);
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return;
  closed.splice(closed.begin(), entries_, found->second);
  by_path_.erase(found);
}

void OpenFiles::forget_folder(const std::string& folder) {
  Entries closed;
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->path.starts_with(folder) && entry->path.substr(folder.size()).starts_with('/')) {
      by_path_.erase(entry->path);
      closed.splice(closed.begin(), entries_, entry);
    }
    entry = next;
  }
}

void OpenFiles::close_unused() {
  Entries closed;
  const std::lock_guard lock(mutex_);
  while (!entries_.empty() && entries_.back().interval < interval_) {
    by_path_.erase(entries_.back().path);
    closed.splice(closed.begin(), entries_, std::prev(entries_.end()));
  }
  ++interval_;
}

size_t OpenFiles::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace naru
