// The files of one embedded store, and the order of steps that makes every crash harmless.
//
//   log-<round>   the rounds from that one on; the newest log is the one in use
//   snapshot      the state after some round; absent until the first one is taken
//   *.tmp         something that was being written aside
//
// A new log is started only when the snapshot before it is durable, so the newest log and the snapshot always suffice.
// Behind its rounds a log has zeros: room that nobody else can take, for what has to be written when the disk is full.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "coordination_store/embedded/store_recovery.h"
#include "platform/file_system.h"
#include "platform/random.h"

namespace naru {

enum class StoreExpectation : uint8_t {
  may_be_new,  // an empty or missing folder is a new store
  must_exist,  // an empty or missing folder is an error: it was there before
};

// Synchronous: used from workers, one call at a time. The file system outlives it.
class StoreFolder {
 public:
  struct Opened;
  // Recovers, cuts a torn tail, and makes what was recovered durable before anybody acts on it.
  static Result<Opened> open(FileSystem& files, Random& random, std::string folder, StoreExpectation expectation);

  // Writes the next round behind the last and syncs. After a failure nothing more may be appended.
  Status append(BytesView round);
  // Makes the room behind the last round at least this large. A failure leaves it as it was.
  Status make_room(uint64_t bytes);
  uint64_t room() const { return file_end_ - log_end_; }

  // Replaces the snapshot. A failure leaves the store as good as before.
  Status write_snapshot(const StoreState& state, uint64_t round);
  // The next log, empty and with this much room, is written aside. A failure leaves the store as good as before.
  Status prepare_log(LogHeader header, uint64_t room);
  // Goes on in the log that was prepared; the durable snapshot holds every round before its first. A failure is final.
  Status start_prepared_log();

  uint64_t log_bytes() const { return log_end_; }
  uint64_t snapshot_bytes() const { return snapshot_bytes_; }

 private:
  StoreFolder(FileSystem& files, std::string folder) : files_(&files), folder_(std::move(folder)) {}
  Result<StoreRecovery> recover(bool has_snapshot);
  Status make_durable(const StoreRecovery& recovery);
  Status remove_leftovers();
  Status write_zeros(File& file, uint64_t begin, uint64_t end);
  std::string path_of(std::string_view name) const { return folder_ + "/" + std::string(name); }

  FileSystem* files_;
  std::string folder_;
  std::string log_name_;
  std::shared_ptr<File> log_;
  uint64_t log_end_ = 0;   // where the next round goes
  uint64_t file_end_ = 0;  // zeros up to here
  std::string prepared_name_;
  uint64_t prepared_log_end_ = 0;
  uint64_t prepared_file_end_ = 0;
  uint64_t snapshot_bytes_ = 0;
};

struct StoreFolder::Opened {
  std::unique_ptr<StoreFolder> folder;
  StoreRecovery recovery;
};

}  // namespace naru
