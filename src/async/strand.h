// A strand: events that run one at a time, without a lock that anybody waits for.
//
// A partition, a coordinator shard, a connection's output is a strand. run(event) on a free strand runs the event at
// once on the calling thread; on a busy one it queues the event, and the thread inside runs it before it leaves:
//
//     thread 1   run(A) ──A──────────C── leaves
//     thread 2        run(C) queued ^, returns at once
//
// Nothing hops to another thread while the system is idle, and nobody blocks while it is busy. An event never runs
// inside another event of the same strand: run() from inside queues. Events run in the order in which they arrived.
#pragma once

#include <atomic>
#include <concepts>
#include <utility>

namespace naru {

// An event that is its own queue node. It usually lives in a coroutine frame, so that waiting for a strand allocates
// nothing.
struct StrandEvent {
  void (*run)(StrandEvent* self) = nullptr;
  StrandEvent* next = nullptr;
};

class Strand {
 public:
  Strand() = default;
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // `event` lives until its function is called, which may destroy it. The caller keeps the owner until run() returns.
  void run(StrandEvent* event);

  // The same for any callable. Allocates only if it has to wait.
  template <std::invocable Function>
  void run(Function function) {
    if (try_enter()) {
      {
        Function inside = std::move(function);  // what it holds is gone before the strand is left, as with a node
        inside();
      }
      return leave();
    }
    struct Node final : StrandEvent {
      explicit Node(Function f) : function(std::move(f)) {}
      Function function;
    };
    auto* node = new Node(std::move(function));
    node->StrandEvent::run = [](StrandEvent* self) {
      auto* owned = static_cast<Node*>(self);
      Function moved = std::move(owned->function);
      delete owned;
      moved();
    };
    run(node);
  }

 private:
  // False: somebody is inside.
  bool try_enter();
  // Runs what was queued meanwhile.
  void leave();
  static void run_batch(StrandEvent* newest_first);

  // nullptr: free. busy_marker(): somebody is inside and nothing is queued. Else: the newest of the queued events.
  std::atomic<StrandEvent*> state_{nullptr};
};

}  // namespace naru
