// The parts of a partition's folder that are not log: names, partition.metadata, and how a folder comes into being.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/uuid.h"
#include "platform/file_system.h"

namespace naru {

// Only what has Kafka's format has Kafka's name: its tools read a file as its name says. The names that these files had
// before are in old_file_names.h.
inline constexpr std::string_view kLogSuffix = ".log";
inline constexpr std::string_view kOffsetIndexSuffix = ".offset-index";
inline constexpr std::string_view kTimeIndexSuffix = ".time-index";
inline constexpr std::string_view kAbortedIndexSuffix = ".aborted-index";
inline constexpr std::string_view kProducerSnapshotSuffix = ".producer-snapshot";
inline constexpr std::string_view kProducerSnapshotAsideSuffix = ".producer-snapshot.tmp";  // while it is being written
inline constexpr std::string_view kEpochFileName = "leader-epoch-checkpoint";
inline constexpr std::string_view kMetadataFileName = "partition.metadata";
inline constexpr std::string_view kCheckpointFileName = "checkpoint";
inline constexpr std::string_view kCompactionFileName = "compaction-checkpoint";
inline constexpr std::string_view kTombstoneFileName = "tombstone-horizon";
// Behind the name of a file: what a compaction is writing, and what is about to take the place of older segments.
inline constexpr std::string_view kCleanedSuffix = ".cleaned";
inline constexpr std::string_view kSwapSuffix = ".swap";

// "00000000000000000042.log"
std::string segment_file_name(Offset base_offset, std::string_view suffix);
// The base offset, if the name is that of a file with this suffix.
std::optional<Offset> parse_segment_file_name(std::string_view name, std::string_view suffix);

// Fills an existing, empty folder with identity and checkpoint, and syncs it: an empty log that begins at offset 0.
Status fill_new_partition_folder(FileSystem& file_system, const std::string& folder, const Uuid& topic_id);

// The topic id in partition.metadata. not_found when there is no such file.
Result<Uuid> read_partition_topic_id(FileSystem& file_system, const std::string& folder);

}  // namespace naru
