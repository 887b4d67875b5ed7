// The inside of SimulatedFileSystem: what exists on the disk, who has it open, and which call fails next.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platform/simulated/name_tree.h"
#include "platform/simulated/simulated_file_system.h"

namespace naru {

class SimulatedFileSystem::State {
 public:
  explicit State(Random& random) : random(random) {}

  // What becomes of one call. A failing one may nevertheless take effect, as on a real disk.
  struct Verdict {
    Status status;
    bool takes_effect = true;
    bool machine_is_gone = false;
  };
  Verdict judge(FileOperation operation, const std::string& path);
  // The same for calls whose failure has no effect at all.
  Status permit(FileOperation operation, const std::string& path) { return judge(operation, path).status; }
  void note(FileOperation operation, const std::string& path, uint64_t bytes = 0) {
    if (trace) trace(operation, path, bytes);
  }

  void forget_process();  // makes every handle stale and releases every lock
  void clear_faults();
  uint64_t used_bytes() const;

  struct PlannedFault {
    FileOperation operation;
    uint64_t calls_left;
    std::string path_part;
    ErrorCode code;
  };

  Random& random;
  NameTree tree;
  uint64_t generation = 1;  // of the process that uses the disk
  uint64_t open_files = 0;
  std::set<NameTree::Inode> locked;

  uint64_t mutations = 0;
  uint64_t mutations_left = std::numeric_limits<uint64_t>::max();
  bool dead = false;

  std::array<uint64_t, kFileOperations> fault_rates{};
  std::vector<PlannedFault> planned_faults;
  uint64_t capacity = std::numeric_limits<uint64_t>::max();
  bool room_for_files = true;
  uint64_t open_file_limit = std::numeric_limits<uint64_t>::max();
  uint64_t cold_rate = 0;
  NameTree::Survivors survivors = NameTree::Survivors::first_ones;
  const Clock* clock = nullptr;
  WallTimeMs now_ms() const { return clock != nullptr ? clock->wall_now_ms() : 0; }
  UniqueFunction<void(FileOperation, const std::string&, uint64_t)> trace;
};

class SimulatedFileSystem::OpenFile final : public File {
 public:
  OpenFile(std::shared_ptr<State> state, NameTree::Inode inode, std::string path, bool writable);
  ~OpenFile() override;

  const std::string& path() const override { return path_; }
  Result<size_t> read_at(uint64_t position, MutableBytesView to) const override;
  Status write_at(uint64_t position, std::span<const BytesView> parts) override;
  Result<uint64_t> size() const override;
  Status truncate(uint64_t size) override;
  Result<WallTimeMs> modified_ms() const override;
  Status set_modified_ms(WallTimeMs time) override;
  Status sync_data() override;
  bool is_cached(uint64_t position, uint64_t length) const override;
  void warm(uint64_t, uint64_t) const override {}
  int descriptor() const override { return -1; }

 private:
  Status check_usable(bool for_writing) const;

  const std::shared_ptr<State> state_;
  const NameTree::Inode inode_;
  const std::string path_;
  const bool writable_;
  const uint64_t generation_;
  uint64_t known_failures_;  // of the inode's write-backs: told by a sync_data, or from before this File
};

class SimulatedFileSystem::HeldLock final : public DirectoryLock {
 public:
  HeldLock(std::shared_ptr<State> state, NameTree::Inode directory);
  ~HeldLock() override;

 private:
  const std::shared_ptr<State> state_;
  const NameTree::Inode directory_;
  const uint64_t generation_;
};

}  // namespace naru
