// The file system of the operating system. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "platform/file_system.h"

namespace naru {

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<bool> exists(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& directory) override;
  Status create_directories(const std::string& directory) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove_file(const std::string& path) override;
  Status remove_directory(const std::string& directory) override;
  Status sync_directory(const std::string& directory) override;
  Result<DiskSpace> space(const std::string& directory) override;
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& directory) override;
  uint64_t open_file_limit() const override;
};

}  // namespace naru
