// Work of this thread that has to wait until the thread is inside no strand.
//
// A core that finds an acknowledgement due must not run the waiting request inside its own strand: encoding and sending
// would keep the partition busy. So continuations go to the thread's ready queue, which is drained when the thread
// leaves its last strand. Order is kept; chains of continuations do not grow the stack.
#pragma once

#include <coroutine>

#include "foundation/function.h"

namespace naru {

// Runs `work` as soon as this thread holds no strand: before returning if it holds none now.
void run_when_ready(UniqueFunction<void()> work);
void resume_when_ready(std::coroutine_handle<> coroutine);

namespace detail {
void enter_strand();
void leave_strand();
}  // namespace detail

}  // namespace naru
