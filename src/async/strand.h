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
//
// An event that finds that it is too long for its thread hands the strand over to another one: the strand stays busy,
// what is queued stays queued, and the other thread goes on inside:
//
//     loop       run(A) ──A─ hand_over()  leaves
//     worker                      go_on() ─────rest of A───C── leaves
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

  // Inside an event, as the last thing that it does, once: this thread leaves the strand, which stays busy. `carry` is
  // run then, by this thread; it sees to it that go_on() is called exactly once, on any thread, and that the strand
  // lives until then.
  void hand_over(StrandEvent* carry) { carry_ = carry; }
  // The calling thread is inside: it runs the function as the rest of the event that has handed over, and what was
  // queued.
  template <std::invocable Function>
  void go_on(Function function) {
    enter_again();
    {
      Function inside = std::move(function);
      inside();
    }
    leave();
  }

 private:
  // False: somebody is inside.
  bool try_enter();
  void enter_again();
  // Runs what was queued meanwhile, until an event hands over.
  void leave();
  void run_batch();

  // nullptr: free. busy_marker(): somebody is inside and nothing is queued. Else: the newest of the queued events.
  std::atomic<StrandEvent*> state_{nullptr};
  // Of the thread inside.
  StrandEvent* batch_ = nullptr;  // taken out of the queue and not run yet, in order
  StrandEvent* carry_ = nullptr;  // set: the strand is handed over
};

}  // namespace naru
