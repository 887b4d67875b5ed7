#include "platform/real/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "platform/real/open_file_limit.h"
#include "platform/real/os_error.h"
#include "platform/real/posix_file.h"

namespace naru {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY;
    case OpenMode::write:
      return O_RDWR;
    case OpenMode::create:
      return O_RDWR | O_CREAT;
    case OpenMode::create_new:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

UniqueDescriptor open_descriptor(const std::string& path, int flags) {
  return UniqueDescriptor(retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); }));
}

// The kernel forgets the lock with the descriptor, so also when the process is killed.
class FlockedDirectory final : public DirectoryLock {
 public:
  explicit FlockedDirectory(UniqueDescriptor directory) : directory_(std::move(directory)) {}

 private:
  const UniqueDescriptor directory_;
};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Result<bool> is_directory(const std::string& path) {
  struct stat information{};
  if (::stat(path.c_str(), &information) != 0) return failure(os_error(errno, "stat", path));
  return S_ISDIR(information.st_mode);
}

Status create_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0) return Status();
  if (errno != EEXIST) return os_error(errno, "mkdir", path);
  NARU_TRY_ASSIGN(const bool directory, is_directory(path));
  return directory ? Status() : error(ErrorCode::already_exists, "mkdir {}: exists and is not a directory", path);
}

}  // namespace

Result<std::shared_ptr<File>> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  UniqueDescriptor descriptor = open_descriptor(path, flags_of(mode));
  if (!descriptor) return failure(os_error(errno, "open", path));
  struct stat information{};
  if (::fstat(descriptor.get(), &information) != 0) return failure(os_error(errno, "stat", path));
  if (!S_ISREG(information.st_mode)) return failure(ErrorCode::io_error, "open {}: not a regular file", path);
  return std::make_shared<PosixFile>(std::move(descriptor), path);
}

Result<bool> PosixFileSystem::exists(const std::string& path) {
  struct stat information{};
  if (::stat(path.c_str(), &information) == 0) return true;
  if (errno == ENOENT) return false;
  return failure(os_error(errno, "stat", path));
}

Result<std::vector<DirectoryEntry>> PosixFileSystem::list(const std::string& directory) {
  const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(directory.c_str()));
  if (!stream) return failure(os_error(errno, "list", directory));
  std::vector<DirectoryEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat information{};
    if (::fstatat(::dirfd(stream.get()), name.c_str(), &information, 0) != 0) {
      if (errno == ENOENT) continue;  // deleted meanwhile
      return failure(os_error(errno, "stat", directory + "/" + name));
    }
    entries.push_back({name, S_ISDIR(information.st_mode)});
  }
  if (errno != 0) return failure(os_error(errno, "list", directory));
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

Status PosixFileSystem::create_directories(const std::string& directory) {
  for (size_t end = 0; end != std::string::npos;) {
    end = directory.find('/', end + 1);
    NARU_TRY(create_directory(directory.substr(0, end)));
  }
  return Status();
}

Status PosixFileSystem::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : os_error(errno, "rename", from + " to " + to);
}

Status PosixFileSystem::remove_file(const std::string& path) {
  return ::unlink(path.c_str()) == 0 ? Status() : os_error(errno, "remove", path);
}

Status PosixFileSystem::remove_directory(const std::string& directory) {
  if (::rmdir(directory.c_str()) == 0) return Status();
  if (errno == EEXIST) errno = ENOTEMPTY;  // POSIX allows both
  return os_error(errno, "remove", directory);
}

Status PosixFileSystem::sync_directory(const std::string& directory) {
  const UniqueDescriptor descriptor = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
  if (!descriptor) return os_error(errno, "open", directory);
  return ::fsync(descriptor.get()) == 0 ? Status() : os_error(errno, "sync", directory);
}

Result<DiskSpace> PosixFileSystem::space(const std::string& directory) {
  struct statvfs information{};
  if (::statvfs(directory.c_str(), &information) != 0) return failure(os_error(errno, "statvfs", directory));
  return DiskSpace{.total_bytes = information.f_blocks * information.f_frsize,
                   .free_bytes = information.f_bavail * information.f_frsize};
}

Result<std::unique_ptr<DirectoryLock>> PosixFileSystem::lock_directory(const std::string& directory) {
  UniqueDescriptor descriptor = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
  if (!descriptor) return failure(os_error(errno, "open", directory));
  const int result = retry_interrupted([&] { return ::flock(descriptor.get(), LOCK_EX | LOCK_NB); });
  if (result == 0) return std::make_unique<FlockedDirectory>(std::move(descriptor));
  if (errno == EWOULDBLOCK) return failure(ErrorCode::already_exists, "{} is in use by another process", directory);
  return failure(os_error(errno, "lock", directory));
}

uint64_t PosixFileSystem::open_file_limit() const {
  return naru::open_file_limit();
}

}  // namespace naru
