#include "fuzzing/fuzz_report.h"

#include <algorithm>

#include <fmt/core.h>

namespace naru::fuzzing {

void FuzzReport::add(const FuzzReport& other) {
  for (size_t i = 0; i < apis.size(); ++i) {
    apis[i].requests += other.apis[i].requests;
    apis[i].successes += other.apis[i].successes;
    apis[i].refused += other.apis[i].refused;
    apis[i].closed += other.apis[i].closed;
    apis[i].left += other.apis[i].left;
  }
  requests += other.requests;
  events += other.events;
  restarts += other.restarts;
  virtual_time += other.virtual_time;
  longest_event = std::max(longest_event, other.longest_event);
  longest_stop = std::max(longest_stop, other.longest_stop);
  heap_peak = std::max(heap_peak, other.heap_peak);
  state_peak = std::max(state_peak, other.state_peak);
  files_peak = std::max(files_peak, other.files_peak);
}

double FuzzReport::success_rate(const ApiTally& tally) {
  const uint64_t ended = tally.successes + tally.refused + tally.closed;
  return ended == 0 ? 0 : static_cast<double>(tally.successes) / static_cast<double>(ended);
}

std::string FuzzReport::table() const {
  std::string text =
      fmt::format("{:<28} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "API", "requests", "success", "refused", "closed", "left");
  for (size_t i = 0; i < apis.size(); ++i) {
    const ApiTally& tally = apis[i];
    text += fmt::format("{:<28} {:>9} {:>8.1f}% {:>9} {:>9} {:>9}\n", kafka::kApiTable[i].name, tally.requests,
                        100 * success_rate(tally), tally.refused, tally.closed, tally.left);
  }
  return text +
         fmt::format(
             "{} requests, {} events, {} restarts, {:.0f} s of virtual time; the longest event took {:.1f} ms, the "
             "longest stop {:.1f} s (virtual); at most {:.0f} MB of heap, {:.1f} MB of "
             "groups and transactions, and {} open files per broker\n",
             requests, events, restarts, static_cast<double>(virtual_time.count()) / 1e9,
             static_cast<double>(longest_event.count()) / 1e6, static_cast<double>(longest_stop.count()) / 1e9,
             static_cast<double>(heap_peak) / 1e6, static_cast<double>(state_peak) / 1e6, files_peak);
}

}  // namespace naru::fuzzing
