// Opens a partition folder whose files hold anything, and reads what there is. Nothing may crash, read out of bounds,
// or be promised that is not there.
#include <algorithm>
#include <cstdint>

#include "foundation/assert.h"
#include "foundation/log.h"
#include "log_storage/open_files.h"
#include "log_storage/partition_folder.h"
#include "log_storage/partition_log.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

// The next part of the input: a two-byte length, then that many bytes, or what is left.
BytesView take(BytesView& input) {
  if (input.size() < 2) return {};
  const size_t length = std::to_integer<size_t>(input[0]) << 8 | std::to_integer<size_t>(input[1]);
  input = input.subspan(2);
  const BytesView part = input.first(std::min(length, input.size()));
  input = input.subspan(part.size());
  return part;
}

void open_and_read(SimulatedFileSystem& files, bool clean_shutdown) {
  OpenFiles open_files(files, 4);
  auto opened = PartitionLog::open(files, open_files, "/t-0", {.segment_bytes = 4096, .index_interval_bytes = 64},
                                   {.topic_id = Uuid{1, 1}, .clean_shutdown = clean_shutdown, .now = 0});
  if (!opened) return;
  PartitionLog& log = *opened->log;
  NARU_ASSERT(log.durable_end() == log.end_offset(), "a recovered log is not durable");
  for (Offset at = log.start_offset(); at < log.end_offset();) {
    const auto slice = log.read(at, log.end_offset(), 1000, true);
    if (!slice || slice->empty()) break;
    NARU_ASSERT(slice->next_offset > at, "reading does not advance");
    at = slice->next_offset;
  }
  (void)log.find_first_at_or_after(5, log.end_offset());
  (void)log.find_max_timestamp(log.end_offset());
  ignore(log.truncate_to(log.start_offset() + (log.end_offset() - log.start_offset()) / 2));
  ignore(log.close());
}

}  // namespace
}  // namespace naru

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace naru;
  set_log_level(LogLevel::error);
  BytesView input(reinterpret_cast<const std::byte*>(data), size);
  SimulatedRandom random(1);
  SimulatedFileSystem files(random);
  ignore(files.create_directories("/t-0"));
  ignore(fill_new_partition_folder(files, "/t-0", Uuid{1, 1}));
  const BytesView flags = input.first(std::min<size_t>(1, input.size()));
  input = input.subspan(flags.size());
  const bool clean = !flags.empty() && (flags[0] & std::byte{1}) != std::byte{};
  const bool of_earlier_version = !flags.empty() && (flags[0] & std::byte{2}) != std::byte{};
  const std::string_view index = of_earlier_version ? ".index" : kOffsetIndexSuffix;
  const std::string_view times = of_earlier_version ? ".timeindex" : kTimeIndexSuffix;
  for (const std::string& name : {segment_file_name(Offset(0), kLogSuffix), segment_file_name(Offset(0), index),
                                  segment_file_name(Offset(0), times), std::string(kEpochFileName),
                                  std::string(kCheckpointFileName), segment_file_name(Offset(2), kLogSuffix)}) {
    const BytesView content = take(input);
    if (content.empty()) continue;
    if (auto file = files.open(fmt::format("/t-0/{}", name), OpenMode::create)) ignore((*file)->write_at(0, content));
  }
  open_and_read(files, clean);
  open_and_read(files, false);
  return 0;
}
