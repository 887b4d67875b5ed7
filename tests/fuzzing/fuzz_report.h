// What came of the requests, API by API.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "foundation/time.h"
#include "kafka_protocol/api_table.h"

namespace naru::fuzzing {

struct ApiTally {
  uint64_t requests = 0;
  uint64_t successes = 0;
  uint64_t refused = 0;
  uint64_t closed = 0;  // by the broker, instead of an answer
  uint64_t left = 0;    // the client did not wait for the answer, or there is none (acks=0)
};

struct FuzzReport {
  std::array<ApiTally, kafka::kApiTable.size()> apis{};
  uint64_t requests = 0;
  uint64_t events = 0;
  uint64_t restarts = 0;
  Duration virtual_time{};
  Duration longest_event{};  // processor time
  Duration longest_stop{};   // virtual time
  uint64_t heap_peak = 0;
  uint64_t state_peak = 0;  // of groups and transactions
  uint64_t files_peak = 0;

  void add(const FuzzReport& other);
  // Of the answers and closed connections that were waited for.
  static double success_rate(const ApiTally& tally);
  std::string table() const;
};

}  // namespace naru::fuzzing
