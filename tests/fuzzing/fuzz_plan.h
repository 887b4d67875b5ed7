// What a round is about, drawn from its seed. Every round draws another mix (swarm testing): a mix of everything hides
// what a few things alone would show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "foundation/time.h"
#include "fuzzing/known_world.h"
#include "kafka_protocol/api_table.h"
#include "platform/random.h"

namespace naru::fuzzing {

struct FuzzPlan {
  std::optional<size_t> focus;      // an API that gets a third of the requests
  uint64_t mutated_one_in = 3;      // requests with spoiled fields
  uint64_t huge_one_in = 0;         // of those: with very long lists and texts; 0: none
  uint64_t bytes_one_in = 40;       // requests whose bytes are changed; 0: none
  uint64_t connections = 2;         // per broker
  uint64_t deaf_connections = 0;    // in all: of clients that never read
  uint64_t deaf_one_in = 8;         // requests over those
  size_t pipeline = 4;              // requests in flight on a connection
  uint64_t restart_one_in = 0;      // requests; 0: none
  size_t network_buffer = 1 << 18;  // what a connection takes without being read
  size_t crowd = 0;                 // transactional ids that there are besides those of KnownWorld
  bool roomy = false;               // brokers with the default memory budget, larger requests, many groups

  uint64_t memory_budget() const;
  size_t frame_max() const;
  size_t groups() const;  // that there are besides those of KnownWorld

  std::string to_string() const;
};

FuzzPlan draw_plan(Random& random);
// An API by its usual frequency.
kafka::ApiKey draw_api(Random& random, const FuzzPlan& plan);
// Whether only the coordinator of a group or of a transaction answers it.
bool needs_coordinator(kafka::ApiKey api);
// The API itself, or one that has to succeed before it can: nothing can be committed that was not begun.
kafka::ApiKey first_needed(kafka::ApiKey api, KnownWorld& world);

}  // namespace naru::fuzzing
