// A disk as the version before would have left it: an upgrade happens when the next broker starts on it.
#pragma once

#include "platform/simulated/simulated_file_system.h"

namespace naru::simulation {

// Gives the files of all partitions the names that they had before, and the data folders the format of then. While no
// process runs; what fails, as on a disk with faults, stays as it is.
void rename_as_earlier_version(SimulatedFileSystem& disk);

}  // namespace naru::simulation
