// Putting a compacted segment into the place of older ones, so that a crash at any step leaves the old or the new ones.
//
//     1. <base>.log.cleaned is written and synced                          old
//     2. it is renamed to <base>.log.swap, and the folder synced           ---- from here on the new one counts
//     3. the older segments behind it, and the indexes of the first, are removed, and the folder synced
//     4. it is renamed to <base>.log, its indexes likewise, and the folder synced: new
//
// A ".swap" that recovery finds is whole, because it was synced before it got that name: the rest of the steps is done
// then. What is still called ".cleaned" is removed. The tables are in recovery_table.h.
#pragma once

#include <string>
#include <vector>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/open_files.h"
#include "platform/file_system.h"

namespace naru {

// Step 2. Blocks.
Status commit_swap(FileSystem& file_system, const std::string& folder, Offset base_offset);
// Steps 3 and 4: `replaced` are the base offsets of the older segments, the first of which is the new one's too.
// Blocks.
Status finish_swap(FileSystem& file_system, OpenFiles& open_files, const std::string& folder,
                   const std::vector<Offset>& replaced);

// Recovery: finishes swaps and removes what was not finished. corrupt_data, naming the file, when a ".swap" is damaged.
// Blocks. A crash in between changes nothing of what the next call does. `entries`: what the folder holds before, and
// afterwards.
Status settle_swaps(FileSystem& file_system, OpenFiles& open_files, const std::string& folder,
                    std::vector<DirectoryEntry>& entries);

}  // namespace naru
