// A disk with a page cache in front of it, in memory: what a power cut may do to files can be tried out at will.
//
// Writes go to the page cache; sync_data makes a file's bytes and size durable, sync_directory the names in a folder.
// crash() is a power cut, kill() the death of the process alone. After either, every File and DirectoryLock handed out
// before is stale: its calls fail with io_error, so the remains of a dead broker cannot touch the disk.
//
// Parent folders must exist; "/" does. Single-threaded and deterministic: all chance comes from the given Random, which
// must outlive the file system. Calls take no virtual time; SimulatedScheduler::run_blocking is where disks are slow.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "foundation/function.h"
#include "platform/clock.h"
#include "platform/file_system.h"
#include "platform/random.h"
#include "platform/simulated/cached_content.h"

namespace naru {

enum class FileOperation : uint8_t {
  open,  // without creating anything
  read,
  list,  // also size, exists, space
  create,
  write,
  truncate,
  sync_data,
  rename,
  remove,
  create_directory,
  sync_directory,
};
inline constexpr size_t kFileOperations = 11;
// The ones that change something, now or durably.
constexpr bool is_mutation(FileOperation operation) {
  return operation >= FileOperation::create;
}

class SimulatedFileSystem final : public FileSystem {
 public:
  explicit SimulatedFileSystem(Random& random);
  ~SimulatedFileSystem() override;

  // An independent copy of page cache and disk, for trying several futures; nothing is open in it, and no fault is set.
  std::unique_ptr<SimulatedFileSystem> clone(Random& random) const;

  // --- Death -------------------------------------------------------------------------------------------------------
  void crash(Unsynced unsynced = Unsynced::mixed);
  void kill();
  // From now on a crash keeps any of a folder's changes that were not synced, instead of those before some moment.
  void set_reorders_names(bool reorders);
  // Another disk, an empty one, is put in the place of this one while no process runs. Faults that are set stay.
  void wipe();
  // Lets `mutations` more mutating calls succeed; the next one fails halfway, and from then on every call fails without
  // effect, until crash() or kill(). Running a scenario once to learn mutations(), then once for each number below it,
  // visits every crash point.
  void die_after(uint64_t mutations);
  bool is_dead() const;
  uint64_t mutations() const;

  // --- Faults ------------------------------------------------------------------------------------------------------
  // A failed write has written a random prefix; a failed sync_data has lost what was dirty, and says so only once;
  // other failed mutations may or may not have happened. Fails about one in `one_in` calls with io_error; 0 turns it
  // off.
  void set_fault_rate(FileOperation operation, uint64_t one_in);
  // Fails the nth call from now (1: the next) on paths that contain `path_part`.
  void fail_nth(FileOperation operation, uint64_t nth, std::string path_part = {},
                ErrorCode code = ErrorCode::io_error);
  void clear_faults();
  // Writing the file's dirty sectors back fails behind everybody's back. They are lost, and that is told once to each
  // File that is open now, by its next sync_data, and to nobody who opens it later.
  void fail_write_back(const std::string& path);
  // Beyond it writes fail with disk_full, after writing what fits.
  void set_capacity(uint64_t bytes);
  // A disk that has room for bytes and none for names: files and folders cannot be created (disk_full), all else works.
  void set_room_for_files(bool room);
  void set_open_file_limit(uint64_t files);
  // is_cached() then says no one in `one_in` times; 0 (as at first): everything is cached.
  void set_cold_rate(uint64_t one_in);

  // Files remember when they were written to by this clock, which must outlive the file system; without one, as time 0.
  void set_clock(const Clock* clock);

  // --- By hand -----------------------------------------------------------------------------------------------------
  // The file must exist; content() is what a read would return, durable_content() what crash(lost) would leave.
  Bytes content(const std::string& path) const;
  Bytes durable_content(const std::string& path) const;
  // What is at `path` (a file, a folder or "/") as of the last syncs. restore() puts it there again, after a crash()
  // and before anything else has happened; without a snapshot it removes what is there.
  struct Snapshot;
  std::shared_ptr<const Snapshot> snapshot(const std::string& path) const;
  void restore(const std::string& path, const std::shared_ptr<const Snapshot>& snapshot);
  // Of all files below the folder, in the order of their names.
  std::vector<std::string> files_below(const std::string& directory) const;
  void flip_bit(const std::string& path, uint64_t position, unsigned bit);
  void cut(const std::string& path, uint64_t size);
  uint64_t open_files() const;
  // Called with every operation that took place, its path and the bytes it moved.
  void set_trace(UniqueFunction<void(FileOperation, const std::string& path, uint64_t bytes)> trace);

  // --- FileSystem --------------------------------------------------------------------------------------------------
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

 private:
  class State;
  class OpenFile;
  class HeldLock;

  Status remove(const std::string& path, bool is_directory);

  std::shared_ptr<State> state_;  // shared with open files, which may outlive this object
};

}  // namespace naru
