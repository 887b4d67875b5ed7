#include "simulation/fault_plan.h"

#include <vector>

#include <fmt/core.h>

namespace naru::simulation {

std::string FaultPlan::to_string() const {
  std::string text;
  const auto add = [&text](bool on, const char* name) {
    if (on) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  };
  add(power_cuts, "power cuts");
  add(kills, "kills");
  add(clean_restarts, "clean restarts");
  add(io_errors, "I/O errors");
  add(full_disk, "full disk");
  add(slow_disk, "slow disk");
  add(cut_connections, "cut connections");
  add(clock_steps, "clock steps");
  add(day_steps, "clock steps of a day");
  add(faulty_starts, "disks that fail during a start");
  add(reordered_names, "names in any order");
  add(upgrades, "upgrades");
  add(wiped_disks, "wiped disks");
  add(cut_links, "cut links");
  add(slow_links, "slow links");
  add(isolation, "isolation");
  add(pauses, "pauses");
  add(coordination, "a faulty coordination service");
  add(lost_answers, "lost answers of the controller");
  add(lost_folders, "lost folders");
  add(old_snapshots, "old snapshots");
  add(bit_flips, "bit flips");
  return text.empty() ? "no faults" : text;
}

std::string RunPlan::to_string() const {
  return fmt::format(
      "{} brokers, {} topics of {} partitions with {} replicas (at least {}), {} producers and {} idempotent ones ({} "
      "in flight, up "
      "to {} records), {} consumers, "
      "{} group members ({} static), {} of the consumer protocol, {} of both, {} copiers of {} partitions, "
      "segments of {} bytes in {} data folders, {}{}, "
      "journal of {} bytes for batches up to {}, {}; {}",
      brokers, topics, partitions, replicas, min_insync_replicas, producers, idempotent_producers, pipeline,
      max_batch_records, consumers, group_members, static_members, consumer_members, mixed_members, copy_stages,
      copy_partitions, segment_bytes, data_folders,
      cleanup == Cleanup::none      ? "nothing cleaned up"
      : cleanup == Cleanup::compact ? fmt::format("compaction, segments of {} ms", segment_ms)
                                    : fmt::format("retention of {} ms and {} bytes", retention_ms, retention_bytes),
      tombstones ? ", keys are deleted" : "", journal_bytes, journal_batch_max_bytes,
      synced_acks ? "flush.messages=1" : "loose", faults.to_string());
}

namespace {

// Half of the runs, with segments that are small enough for it to matter.
void draw_cleanup(RunPlan& plan, Random& random) {
  const uint64_t kind = random.below(4);
  if (kind >= 2) return;
  plan.segment_bytes = static_cast<int64_t>(2000 + random.below(4000));  // any batch fits
  if (kind == 0) {
    plan.cleanup = Cleanup::remove;
    if (!random.one_in(3)) plan.retention_ms = static_cast<int64_t>(200 + random.below(3000));
    if (!random.one_in(3)) plan.retention_bytes = static_cast<int64_t>(1000 + random.below(20'000));
  } else {
    plan.cleanup = Cleanup::compact;
    plan.segment_ms = static_cast<int64_t>(100 + random.below(2000));
    plan.tombstones = kSwitches.tombstones && !random.one_in(3);
  }
}

// A third of the runs in which nothing that was promised may go.
void draw_chain(RunPlan& plan, Random& random) {
  if (plan.promise != Promise::durable || !random.one_in(3)) return;
  plan.copy_stages = static_cast<int>(2 + random.below(2));
  plan.copy_partitions = static_cast<int>(1 + random.below(2));
}

}  // namespace

RunPlan draw_plan(Random& random, Shape shape) {
  RunPlan plan;
  plan.topics = static_cast<int>(1 + random.below(3));
  plan.partitions = static_cast<int>(1 + random.below(3));
  plan.producers = static_cast<int>(1 + random.below(3));
  plan.idempotent_producers = static_cast<int>(1 + random.below(2));
  plan.consumers = static_cast<int>(1 + random.below(2));
  plan.group_members = static_cast<int>(random.below(5));
  plan.static_members = static_cast<int>(random.below(static_cast<uint64_t>(plan.group_members) + 1));
  plan.consumer_members = static_cast<int>(random.below(4));
  plan.mixed_members = static_cast<int>(random.below(6));
  plan.pipeline = static_cast<int>(1 + random.below(5));
  plan.max_batch_records = static_cast<int>(1 + random.below(20));
  plan.segment_bytes = random.one_in(3) ? 1 << 20 : static_cast<int64_t>(2000 + random.below(8000));
  // Small enough to be full now and then.
  if (!random.one_in(6)) plan.journal_bytes = (1 << 16) + static_cast<int64_t>(random.below(1 << 17));
  plan.journal_batch_max_bytes = static_cast<int64_t>(random.one_in(2) ? 1 << 16 : 100 + random.below(1000));
  draw_cleanup(plan, random);
  plan.data_folders = random.one_in(4) ? 2 : 1;
  // What compaction takes must not be missed by those who may lose what was not synced.
  const bool is_delicate = shape == Shape::single && plan.cleanup == Cleanup::compact;
  plan.synced_acks = !random.one_in(is_delicate ? 2 : 5);
  if (!plan.synced_acks) plan.promise = Promise::until_power_cut;
  if (shape == Shape::cluster) {
    plan.brokers = static_cast<int>(3 + random.below(3));
    plan.replicas = random.one_in(4) ? 2 : 3;
    plan.min_insync_replicas = random.one_in(3) ? 2 : 1;
    // Time goes into what brokers do to each other.
    plan.max_batch_records = static_cast<int>(1 + random.below(6));
    plan.producer_pause = 200ms;
    plan.promise = Promise::durable;  // the faults leave a copy that has everything
    plan.copy_pause = 300ms;
  }
  draw_chain(plan, random);

  FaultPlan& faults = plan.faults;
  faults.rounds = static_cast<int>(2 + random.below(6));
  const uint64_t kind = random.below(10);
  if (kind == 0) return plan;  // a healthy run must be clean too
  std::vector<bool*> all{&faults.power_cuts,    &faults.kills,          &faults.clean_restarts,  &faults.io_errors,
                         &faults.full_disk,     &faults.slow_disk,      &faults.cut_connections, &faults.clock_steps,
                         &faults.faulty_starts, &faults.reordered_names};
  if (kSwitches.day_steps) all.push_back(&faults.day_steps);
  if (shape == Shape::cluster) {
    all.insert(all.end(), {&faults.wiped_disks, &faults.cut_links, &faults.slow_links, &faults.isolation,
                           &faults.pauses, &faults.coordination, &faults.lost_answers});
    if (kSwitches.lost_folders) all.push_back(&faults.lost_folders);
    if (kSwitches.old_snapshots) all.push_back(&faults.old_snapshots);
    if (kSwitches.bit_flips) all.push_back(&faults.bit_flips);
  }
  if (kind == 1) {
    *all[random.below(all.size())] = true;
  } else {
    for (bool* fault : all) *fault = random.one_in(2);
  }
  // A disk that fails takes with it what was not synced, whoever else has it.
  if (shape == Shape::cluster && !plan.synced_acks) faults.io_errors = false;
  return plan;
}

}  // namespace naru::simulation
