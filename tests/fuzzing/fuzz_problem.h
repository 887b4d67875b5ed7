// What the fuzzer demands of the brokers, besides that they stay alive.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace naru::fuzzing {

enum class Demand : uint8_t {
  answers,  // every answer can be decoded and belongs to its request
  time,     // every request is answered, or its connection closed, in time
  events,   // no turn of a loop takes long
  memory,   // the heap stays small, and clients that left leave nothing behind
  files,    // so do the open files
  stop,     // brokers stop cleanly and in time
};

struct DemandName {
  Demand demand;
  std::string_view name;
};
inline constexpr std::array kDemands{DemandName{Demand::answers, "answers"}, DemandName{Demand::time, "time"},
                                     DemandName{Demand::events, "events"},   DemandName{Demand::memory, "memory"},
                                     DemandName{Demand::files, "files"},     DemandName{Demand::stop, "stop"}};

// The first problem counts. Demands that are waived are not looked at: for going on behind a problem that is known.
class Problems {
 public:
  explicit Problems(std::set<Demand> waived) : waived_(std::move(waived)) {}

  void report(Demand demand, std::string sentence) {
    if (!first_ && !waived_.contains(demand)) first_ = std::move(sentence);
  }
  const std::optional<std::string>& first() const { return first_; }

 private:
  const std::set<Demand> waived_;
  std::optional<std::string> first_;
};

}  // namespace naru::fuzzing
