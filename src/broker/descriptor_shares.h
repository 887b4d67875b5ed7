// Who may use how many of the process's descriptors. What is left over is for connections, and for what is open for a
// moment: a checkpoint, a metadata file, a folder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "log_storage/unsynced_logs.h"

namespace naru {

struct DescriptorShares {
  explicit DescriptorShares(uint64_t limit)
      : cached_files(static_cast<size_t>(std::clamp<uint64_t>(limit / 8, 16, 2048))),
        unsynced_files{.sync_beyond = share(limit / 8 * 3), .full = share(limit / 2)},
        files_per_fetch(static_cast<size_t>(std::clamp<uint64_t>(limit / 16, 8, 4096))),
        pinned_files(static_cast<size_t>(std::clamp<uint64_t>(limit / 8, 16, 1u << 16))),
        pinned_files_per_connection(files_per_fetch) {}

  size_t cached_files;  // of logs that are read, or were written to a moment ago
  UnsyncedLogs::Limits unsynced_files;
  size_t files_per_fetch;  // what one answer sends from; the client gets the rest with its next fetch
  // What answers keep open until their clients have read them. Beyond it, records are copied into the answers.
  size_t pinned_files;
  size_t pinned_files_per_connection;

 private:
  static size_t share(uint64_t files) { return static_cast<size_t>(std::clamp<uint64_t>(files, 8, 1u << 20)); }
};

}  // namespace naru
