#include "log_storage/recovery_report.h"

#include <fmt/core.h>

namespace naru {

std::string RecoveryReport::to_string() const {
  std::string text = fmt::format("offsets [{}, {})", start_offset, end_offset);
  if (scanned_bytes != 0) text += fmt::format(", {} bytes checked", scanned_bytes);
  if (dropped_bytes != 0 || dropped_segments != 0) {
    text += fmt::format(", {} bytes dropped that this log's files did not promise to hold", dropped_bytes);
    if (dropped_segments != 0) text += fmt::format(" ({} segments)", dropped_segments);
    text += ": " + why_cut;
  }
  if (replayed_batches != 0) text += fmt::format(", {} batches came back from the commit journal", replayed_batches);
  if (damaged_indexes != 0) text += fmt::format(", damaged indexes of {} segments rebuilt", damaged_indexes);
  if (epochs_rebuilt) text += ", leader-epoch-checkpoint rebuilt";
  if (checkpoint_rebuilt) text += ", checkpoint rebuilt";
  return text;
}

}  // namespace naru
