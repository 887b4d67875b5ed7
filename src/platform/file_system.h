// The seam to disks. Calls are synchronous: those that may block for long (sync_data, cold reads, deleting large files)
// are made from Scheduler::run_blocking. "Does not exist" is ErrorCode::not_found; any other error means "could not
// tell".
//
// What survives a power cut: bytes written before a sync_data that returned ok; names (create, rename, remove) made
// before a sync_directory of their folder that returned ok. Everything later may be there, not there, or torn.
// After a failed sync_data nothing that was written since the last successful one may be trusted (the kernel drops it).
// The system also writes back by itself, and tells a failure only to the Files that are open then, with their next
// sync_data: a File with unsynced bytes is kept open until it was synced.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"

namespace naru {

// Thread-safe: positions are explicit. Closed when the last reference goes.
class File {
 public:
  virtual ~File() = default;

  virtual const std::string& path() const = 0;
  // Fills `to` as far as the file reaches and returns the number of bytes; fewer than asked means end of file.
  virtual Result<size_t> read_at(uint64_t position, MutableBytesView to) const = 0;
  // Writes all parts one behind the other, or fails; after a failure the range holds an unknown prefix of them.
  virtual Status write_at(uint64_t position, std::span<const BytesView> parts) = 0;
  Status write_at(uint64_t position, BytesView bytes) { return write_at(position, std::span(&bytes, 1)); }
  virtual Result<uint64_t> size() const = 0;
  virtual Status truncate(uint64_t size) = 0;
  // When it was last written to, by the machine's wall clock. Every write sets it, set_modified_ms() changes it
  // afterwards; a sync of the content makes it durable too, without one it may fall back.
  virtual Result<WallTimeMs> modified_ms() const = 0;
  virtual Status set_modified_ms(WallTimeMs time) = 0;
  // fdatasync: contents and size.
  virtual Status sync_data() = 0;
  // Whether reading the range would not touch the disk. A guess; warm() makes it true for a while, and blocks.
  virtual bool is_cached(uint64_t position, uint64_t length) const = 0;
  virtual void warm(uint64_t position, uint64_t length) const = 0;
  // For sendfile; -1 where there is none (simulation).
  virtual int descriptor() const = 0;
};

enum class OpenMode {
  read,        // must exist
  write,       // must exist; read and write
  create,      // created empty if it is missing; read and write
  create_new,  // must not exist; read and write
};

// Held for the life of the process so that two brokers never share a data folder.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  bool operator==(const DirectoryEntry&) const = default;
};

struct DiskSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  // Sorted by name, without "." and "..".
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& directory) = 0;
  virtual Status create_directories(const std::string& directory) = 0;
  // Replaces an existing file `to` atomically.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove_file(const std::string& path) = 0;
  virtual Status remove_directory(const std::string& directory) = 0;  // an empty one
  virtual Status sync_directory(const std::string& directory) = 0;
  virtual Result<DiskSpace> space(const std::string& directory) = 0;
  // ErrorCode::already_exists when another process holds it.
  virtual Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& directory) = 0;
  // How many descriptors the process may have open: files, connections and everything else together.
  virtual uint64_t open_file_limit() const = 0;
};

// The whole file; fails with ErrorCode::corrupt_data when it is larger than `limit`.
Result<Bytes> read_whole_file(FileSystem& file_system, const std::string& path, uint64_t limit = 64u << 20);

// Replaces a file so that a crash leaves the old or the new content: write aside, sync, rename, sync the folder.
Status replace_file(FileSystem& file_system, const std::string& directory, const std::string& name, BytesView content);

// Deletes a folder with all that is in it.
Status remove_recursively(FileSystem& file_system, const std::string& directory);

}  // namespace naru
