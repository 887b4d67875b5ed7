// Which faults a run has, and how often: drawn from its seed. Every run draws a different mix (swarm testing), because
// a mix of everything hides what two faults alone would show.
#pragma once

#include <string>

#include "foundation/time.h"
#include "platform/random.h"
#include "simulation/history.h"

namespace naru::simulation {

struct FaultPlan {
  bool power_cuts = false;
  bool kills = false;
  bool clean_restarts = false;
  bool io_errors = false;  // reads, writes and syncs that fail for a while
  bool full_disk = false;
  bool slow_disk = false;
  bool cut_connections = false;
  bool clock_steps = false;
  bool day_steps = false;        // of the clock, forward
  bool faulty_starts = false;    // disks that fail while a broker starts
  bool reordered_names = false;  // a power cut keeps any of a folder's changes that were not synced
  bool upgrades = false;         // whenever a broker starts, its disk is as the version before would have left it
  // Of clusters only:
  bool wiped_disks = false;    // of brokers whose data others have
  bool cut_links = false;      // between brokers, in one direction
  bool slow_links = false;     // likewise
  bool isolation = false;      // of a broker, from brokers, clients and the coordination service
  bool pauses = false;         // of a process, for longer than its session
  bool coordination = false;   // the service is away, loses answers, ends sessions
  bool lost_answers = false;   // of the controller, and of the service to it, just when an in-sync set has grown
  bool lost_folders = false;   // of one partition, of brokers whose data others have
  bool old_snapshots = false;  // of a partition's folder, a data folder or a whole disk, restored likewise
  bool bit_flips = false;      // in closed segments, likewise
  int rounds = 0;              // of the nemesis

  // Disks may lose what they were asked to sync.
  bool disks_fail() const { return io_errors || faulty_starts; }

  std::string to_string() const;
};

struct RunPlan {
  FaultPlan faults;
  int brokers = 1;
  int replicas = 1;
  bool synced_acks = true;  // flush.messages=1, else the loose rule
  Promise promise = Promise::durable;
  int min_insync_replicas = 1;
  int topics = 1;
  int partitions = 1;
  int producers = 1;
  int idempotent_producers = 1;
  int consumers = 1;
  int group_members = 0;
  int static_members = 0;    // of them
  int consumer_members = 0;  // of another group, of the consumer protocol
  int mixed_members = 0;     // of a third one, each now of the one and now of the other protocol
  int copy_stages = 0;       // copiers of a chain of topics; 0: there is none
  int copy_partitions = 1;   // of each of them
  Duration copy_pause = 100ms;
  int pipeline = 1;  // batches that a producer has in flight
  int64_t segment_bytes = 1 << 20;
  int max_batch_records = 1;
  Duration producer_pause = 50ms;  // at most, between one window and the next
  Cleanup cleanup = Cleanup::none;
  int64_t segment_ms = 604'800'000;
  int64_t retention_ms = -1;
  int64_t retention_bytes = -1;
  bool tombstones = false;    // keys are deleted, too; compacted topics only
  int64_t journal_bytes = 0;  // 0: without a commit journal
  int64_t journal_batch_max_bytes = 0;
  int64_t verify_interval_ms = 1000;
  int data_folders = 1;  // of each broker: /data, /data2, ...

  std::string to_string() const;
};

// One broker with a store of its own, or several around a coordination service.
enum class Shape : uint8_t { single, cluster };

RunPlan draw_plan(Random& random, Shape shape);

// What brokers do not withstand yet. A seed draws none of it while its switch is off; a rule that is named here turns
// its switch on.
struct Switches {
  // A partition folder that is listed in its data folder's manifest and absent is offline, not new.
  bool lost_folders = true;
  // A data folder that is older than what its broker had confirmed takes the broker out of in-sync sets.
  bool old_snapshots = true;
  // Closed segments are verified from time to time, and repaired from another replica.
  bool bit_flips = true;
  // A log that went offline because the disk was full while it was cut back is opened again when there is room.
  bool full_disks_without_restart = true;
  // Producers expire by time that has passed, not by the wall clock.
  bool day_steps = true;
  // A producer id that was never forgotten begins at sequence 0.
  bool overlapping_first_batches = true;
  // A follower that was away for longer than delete.retention.ms begins anew.
  bool tombstones = true;
  // A leader whose in-sync set may have grown unheard is as careful as one whose set has.
  bool replaced_leaders_are_silent = true;
};
inline constexpr Switches kSwitches;

}  // namespace naru::simulation
