// Runs an event on a strand that lives in a shared object, keeping the object alive until the thread has left the
// strand.
#pragma once

#include <memory>
#include <utility>

#include "async/ready_queue.h"
#include "async/strand.h"

namespace naru {

// `Owner` has a member `strand`; `event` is called with the owner. An event that held the last reference itself would
// destroy the strand from inside, so the reference is dropped through the ready queue.
template <class Owner, class Event>
void run_on_strand_of(std::shared_ptr<Owner> owner, Event event) {
  Strand& strand = owner->strand;
  strand.run([owner = std::move(owner), event = std::move(event)]() mutable {
    event(*owner);
    run_when_ready([keep = std::move(owner)] {});
  });
}

}  // namespace naru
