#include "platform/simulated/simulated_world.h"

#include <algorithm>
#include <utility>

#include "async/task_group.h"
#include "foundation/assert.h"

namespace naru {

SimulatedNode::SimulatedNode(SimulatedWorld& world, std::string host)
    : world_(world), host_(std::move(host)), clock_(world.queue()), disk_(world.random()) {
  disk_.set_clock(&clock_);
  disk_.set_trace([&trace = world.queue().trace()](FileOperation operation, const std::string& path, uint64_t bytes) {
    trace.mix(static_cast<uint64_t>(operation));
    trace.mix(path);
    trace.mix(bytes);
  });
}

std::unique_ptr<SimulatedProcess> SimulatedNode::start() {
  NARU_ASSERT(running_ == nullptr, "{} already runs a process", host_);
  std::unique_ptr<SimulatedProcess> process(
      new SimulatedProcess(*this, world_.network(), world_.next_owner_++));  // the constructor is private
  running_ = process.get();
  return process;
}

void SimulatedNode::kill() {
  end_process(false);
  disk_.kill();
}

void SimulatedNode::crash(Unsynced unsynced) {
  end_process(true);
  disk_.crash(unsynced);
}

void SimulatedNode::end_process(bool silently) {
  if (running_ != nullptr) std::exchange(running_, nullptr)->die(silently);
}

SimulatedWorld::SimulatedWorld(uint64_t seed) : random_(seed), network_(queue_, random_) {}

SimulatedWorld::~SimulatedWorld() {
  for (const auto& node : nodes_)
    NARU_ASSERT(!node->is_running(), "the world ends before a process on {}", node->host());
  queue_.forget_everything();
}

SimulatedNode& SimulatedWorld::add_node(std::string host) {
  return *nodes_.emplace_back(std::make_unique<SimulatedNode>(*this, std::move(host)));
}

SimulatedNode& SimulatedWorld::node(std::string_view host) {
  const auto found =
      std::ranges::find(nodes_, host, [](const auto& node) -> const std::string& { return node->host(); });
  NARU_ASSERT(found != nodes_.end(), "there is no machine named {}", host);
  return **found;
}

void SimulatedWorld::run_for(Duration duration) {
  const MonotonicTime end = now() + duration;
  while (queue_.next_event().value_or(MonotonicTime::max()) <= end) queue_.step();
  queue_.advance_to(end);
}

void SimulatedWorld::run_until_idle() {
  while (queue_.step()) {
  }
}

bool SimulatedWorld::run_until(UniqueFunction<bool()> done, Duration limit) {
  const MonotonicTime end = now() + limit;
  while (!done()) {
    if (queue_.next_event().value_or(MonotonicTime::max()) > end) return false;
    queue_.step();
  }
  return true;
}

void SimulatedWorld::run_task(Task<void> task, Duration limit) {
  TaskGroup group;
  group.spawn(std::move(task));
  const bool ended = run_until([&group] { return group.running() == 0; }, limit);
  NARU_ASSERT(ended, "a task has not ended within its limit of virtual time");
}

}  // namespace naru
