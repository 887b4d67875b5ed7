// Segments that are no longer part of a log, and whose files are still to be removed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/status.h"
#include "platform/file_system.h"

namespace naru {

struct RemovedSegments {
  FileSystem* file_system = nullptr;
  std::string folder;
  std::vector<std::string> paths;
  size_t segments = 0;
  uint64_t bytes = 0;

  bool empty() const { return segments == 0; }
  // Blocks, for large files long: on a worker. Whoever still reads one of the files can go on. What could not be
  // removed is removed by the next recovery. The first error.
  Status remove_files() const;
};

}  // namespace naru
