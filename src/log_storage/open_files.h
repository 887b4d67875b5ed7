// The open files of segments and of indexes, of all partitions of the process together: bounded, the least recently
// used one is closed first, and those that are not used for a while are closed anyway. A file that is still being read,
// or has to be synced, stays open until its last user drops it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "platform/file_system.h"

namespace naru {

// Thread-safe. Outlives the logs that use it.
class OpenFiles {
 public:
  OpenFiles(FileSystem& file_system, size_t capacity) : file_system_(file_system), capacity_(capacity) {}
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  // The file for reading and writing: the one that is open already, or newly opened with `mode`.
  Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode = OpenMode::write);
  // Before the file is removed or its folder renamed: the next open() looks at the disk again.
  void forget(const std::string& path);
  // The same for everything in a folder; goes through all files.
  void forget_folder(const std::string& folder);

  // Closes what was not opened since the call before the last one. Called at intervals, so that the number of open
  // files follows what is in use and not what was ever touched.
  void close_unused();

  FileSystem& file_system() const { return file_system_; }
  size_t size() const;

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<File> file;
    uint64_t interval;  // in which it was used last
  };
  using Entries = std::list<Entry>;

  std::shared_ptr<File> find(const std::string& path);
  void insert(const std::string& path, const std::shared_ptr<File>& file);

  FileSystem& file_system_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  Entries entries_;        // most recently used first
  uint64_t interval_ = 0;  // between two calls of close_unused()
  std::unordered_map<std::string, Entries::iterator> by_path_;
};

}  // namespace naru
