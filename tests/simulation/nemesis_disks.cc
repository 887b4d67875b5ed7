// Faults of disks.
#include <iterator>
#include <utility>

#include "broker/hosted_partitions.h"
#include "simulation/nemesis.h"

namespace naru::simulation {

// A disk that fails may take logs offline for good, so the broker is restarted afterwards, as an operator would.
Task<void> Nemesis::io_errors() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  SimulatedFileSystem& disk = (*broker)->node().disk();
  faulty_disks_.insert((*broker)->id());
  const FileOperation kinds[] = {FileOperation::read,           FileOperation::write,  FileOperation::sync_data,
                                 FileOperation::sync_directory, FileOperation::create, FileOperation::rename};
  disk.set_fault_rate(kinds[random().below(std::size(kinds))], 2 + random().below(30));
  co_await sleep(2s);
  disk.clear_faults();
  co_await restart(**broker, random().one_in(2) ? End::power_cut : End::kill);
  faulty_disks_.erase((*broker)->id());
}

Task<void> Nemesis::full_disk() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  SimulatedFileSystem& disk = (*broker)->node().disk();
  faulty_disks_.insert((*broker)->id());
  const auto space = disk.space("/");
  disk.set_capacity((space ? space->total_bytes - space->free_bytes : 0) + random().below(4096));
  // Long enough for a coordinator to try it again.
  co_await sleep(parts_.cluster.is_alone() ? 2s : 4s);
  disk.set_capacity(UINT64_MAX);
  // Appends survive a full disk; a log that was being cut back, or the store of the metadata, may have gone offline,
  // and is opened again within seconds.
  if (!kSwitches.full_disks_without_restart || random().one_in(2)) {
    co_await restart(**broker, random().one_in(2) ? End::power_cut : End::kill);
  } else {
    co_await sleep(8s);
  }
  faulty_disks_.erase((*broker)->id());
}

// What is appended to files that are there is stored, and cannot be synced where that needs a new file: the first
// records of a leader epoch, for one. Another broker ends, so that this one begins to lead, and to coordinate.
Task<void> Nemesis::no_room_for_files() {
  const auto broker = hold_a_broker();
  const auto other = broker ? hold_a_broker() : std::nullopt;
  if (!other) co_return;
  SimulatedFileSystem& disk = (*broker)->node().disk();
  faulty_disks_.insert((*broker)->id());
  co_await end(**other, random().one_in(2) ? End::kill : End::in_order);
  disk.set_room_for_files(false);
  co_await pause(6s);
  disk.set_room_for_files(true);
  co_await pause(2s);
  if (!(*other)->running()) co_await start_despite_cuts(**other);
  if (random().one_in(2)) {
    co_await restart(**broker, random().one_in(2) ? End::power_cut : End::kill);
  } else {
    co_await sleep(8s);
  }
  faulty_disks_.erase((*broker)->id());
}

Task<void> Nemesis::slow_disk() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  (*broker)->process().scheduler().set_disk_timing(
      {.usual_min = 1ms, .usual_max = 80ms, .stall_one_in = 20, .stall_max = 5s});
  co_await sleep(3s);
  // Now and then it ends with what was not synced in time.
  if (!parts_.cluster.is_alone() && random().one_in(3)) co_return co_await restart(**broker, End::power_cut);
  (*broker)->process().scheduler().set_disk_timing({});
}

// The disk fails while the broker starts, and for a while after. Some logs may not be served then; the next start, on a
// disk that works, has to find everything.
Task<void> Nemesis::faulty_start() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  co_await end(**broker, random().one_in(2) ? End::power_cut : End::kill);
  if ((*broker)->running()) co_return;
  SimulatedFileSystem& disk = (*broker)->node().disk();
  faulty_disks_.insert((*broker)->id());
  const FileOperation kinds[] = {FileOperation::read,      FileOperation::open,          FileOperation::list,
                                 FileOperation::write,     FileOperation::rename,        FileOperation::create,
                                 FileOperation::sync_data, FileOperation::sync_directory};
  // What fails to be synced is lost, whoever else has it.
  const size_t count = parts_.cluster.is_alone() || parts_.plan.synced_acks ? std::size(kinds) : 3;
  disk.set_fault_rate(kinds[random().below(random().one_in(2) ? 3 : count)], 2 + random().below(40));
  TaskGroup starts;
  starts.spawn((*broker)->start());
  co_await sleep(1s);
  disk.clear_faults();
  co_await starts.join();
  co_await sleep(1s);
  co_await restart(**broker, static_cast<End>(random().below(3)));
  faulty_disks_.erase((*broker)->id());
}

// --- What others have, too -------------------------------------------------------------------------------------------

Task<void> Nemesis::change_disk(SimulatedBroker& broker, UniqueFunction<void(SimulatedFileSystem&)> change) {
  co_await calm();
  if (!broker.running() || !atlas_.may_lose_data(broker.id())) co_return;
  atlas_.ended(broker.id(), FaultAtlas::End::lossy);
  broker.cut_power();
  parts_.workload.power_was_cut({});
  change(broker.node().disk());
  if (random().one_in(2)) co_return co_await start_at_once(broker);
  co_await sleep(4s);
  co_await broker.start();
}

std::string Nemesis::folder_of(SimulatedBroker& broker, const Partition& partition) {
  const PartitionIdentity& identity = partition.identity();
  const HostedPartition hosted = broker.broker().partitions().find(identity.topic_id, identity.index);
  return fmt::format("{}/{}-{}", hosted.log_dir, identity.topic, identity.index);
}

std::vector<std::string> Nemesis::folders_on(SimulatedBroker& broker) {
  std::vector<std::string> folders;
  for (const auto& partition : broker.broker().partitions().all()) folders.push_back(folder_of(broker, *partition));
  return folders;
}

Task<void> Nemesis::lost_folder() {
  const auto broker = alone_ ? hold_a_broker() : std::nullopt;
  if (!broker) co_return;
  const auto folders = folders_on(**broker);
  if (folders.empty()) co_return;
  const std::string folder = folders[random().below(folders.size())];
  co_await change_disk(**broker, [&folder](SimulatedFileSystem& disk) { disk.restore(folder, nullptr); });
}

Task<void> Nemesis::old_snapshot() {
  const auto broker = alone_ ? hold_a_broker() : std::nullopt;
  if (!broker) co_return;
  if (random().one_in(2)) co_return co_await old_snapshot_of_a_partition(**broker);
  // Of a data folder, or of everything, as it was before the broker was started the last time: a copy of the same
  // broker epoch looks like the folder itself.
  const std::string path = random().one_in(2) ? "/data" : "/";
  const auto snapshot = (*broker)->node().disk().snapshot(path);
  if (!snapshot) co_return;
  co_await restart(**broker, random().one_in(2) ? End::kill : End::in_order);
  const auto is_confirmed = [&] {
    const KnownBroker known = parts_.store.image().known_broker((*broker)->id());
    return atlas_.is_settled((*broker)->id()) && std::ranges::all_of(known.confirmed, [&known](const auto& folder) {
             return folder.epoch == known.registered_epoch;
           });
  };
  for (int tries = 0; tries < 50 && !is_confirmed(); ++tries) co_await sleep(200ms);
  if (!is_confirmed()) co_return;
  co_await sleep(3s);
  co_await change_disk(**broker, [&](SimulatedFileSystem& disk) { disk.restore(path, snapshot); });
}

// As it was before the data folder noted the last time how far the log is durable.
Task<void> Nemesis::old_snapshot_of_a_partition(SimulatedBroker& broker) {
  const auto partitions = broker.broker().partitions().all();
  if (partitions.empty()) co_return;
  const std::weak_ptr<Partition> chosen = partitions[random().below(partitions.size())];
  const std::string folder = folder_of(broker, *chosen.lock());
  const auto snapshot = broker.node().disk().snapshot(folder);
  const auto then = co_await durable_end(chosen);
  if (!snapshot || !then) co_return;
  std::optional<Offset> now = then;
  for (int tries = 0; tries < 30 && now && *now <= *then; ++tries) {
    co_await sleep(200ms);
    now = co_await durable_end(chosen);
  }
  if (!now || *now <= *then) co_return;
  co_await pause(2s);
  co_await change_disk(broker, [&](SimulatedFileSystem& disk) { disk.restore(folder, snapshot); });
}

Task<std::optional<Offset>> Nemesis::durable_end(std::weak_ptr<Partition> weak) {
  const auto partition = weak.lock();
  if (!partition) co_return std::nullopt;
  const auto end =
      co_await partition->with_log([](const LogAccess& access) -> Result<Offset> { return access.log.durable_end(); });
  co_return end ? std::optional(*end) : std::nullopt;
}

// In a segment that is not the last one of its partition; while the broker runs, or before it is started.
Task<void> Nemesis::bit_flip() {
  const auto broker = alone_ ? hold_a_broker() : std::nullopt;
  if (!broker) co_return;
  const auto segment = closed_segment(**broker);
  if (!segment) co_return;
  if (random().one_in(2)) {
    co_await change_disk(**broker, [&](SimulatedFileSystem&) { flip_a_bit((*broker)->id(), *segment); });
    co_return;
  }
  co_await calm();
  const bool may_lose = atlas_.may_lose_log((*broker)->id(), segment->topic_id, segment->index);
  if ((*broker)->running() && may_lose) flip_a_bit((*broker)->id(), *segment);
  co_await sleep(4s);
}

std::optional<Nemesis::ClosedSegment> Nemesis::closed_segment(SimulatedBroker& broker) {
  std::vector<ClosedSegment> closed;
  for (const auto& partition : broker.broker().partitions().all()) {
    const PartitionIdentity& identity = partition->identity();
    std::vector<std::string> paths = broker.node().disk().files_below(folder_of(broker, *partition));
    std::erase_if(paths, [](const std::string& path) { return !path.ends_with(".log"); });
    if (paths.size() < 2) continue;
    paths.pop_back();
    for (std::string& path : paths) closed.push_back({identity.topic_id, identity.index, std::move(path)});
  }
  if (closed.empty()) return std::nullopt;
  return closed[random().below(closed.size())];
}

// The broker may have removed the segment meanwhile.
void Nemesis::flip_a_bit(BrokerId id, const ClosedSegment& segment) {
  SimulatedFileSystem& disk = find(id)->node().disk();
  const size_t size = disk.exists(segment.path).value_or(false) ? disk.content(segment.path).size() : 0;
  if (size == 0) return;
  const uint64_t position = random().below(size);
  disk.flip_bit(segment.path, position, static_cast<unsigned>(random().below(8)));
  atlas_.flipped(id, segment.topic_id, segment.index, segment.path, position);
}

}  // namespace naru::simulation
