#include "platform/real/event_loop.h"

#include <uv.h>

#include <algorithm>
#include <utility>

#include "foundation/assert.h"
#include "platform/real/loop_watchdog.h"
#include "platform/real/thread_name.h"

namespace naru {
namespace {

thread_local EventLoop* current_loop = nullptr;

template <class Handle>
EventLoop& owner_of(Handle* handle) {
  auto& loop = *static_cast<EventLoop*>(handle->data);
  loop.note_busy();
  return loop;
}

}  // namespace

struct EventLoop::Handles {
  uv_async_t posted_elsewhere;  // wakes the loop
  uv_idle_t posted_here;        // active while this thread's own posts wait: then the loop does not sleep
  uv_check_t after_poll;
  uv_prepare_t before_poll;
  uv_timer_t timer;
};

EventLoop::EventLoop(size_t index, const Clock& clock, LoopWatchdog& watchdog)
    : index_(index),
      clock_(clock),
      watchdog_(watchdog),
      uv_(std::make_unique<uv_loop_s>()),
      handles_(std::make_unique<Handles>()),
      wheel_(MonotonicTime{}) {  // ticks are whole milliseconds of the monotonic clock, as libuv's are
  NARU_ASSERT(uv_loop_init(uv()) == 0, "cannot create an event loop: errno {}", errno);
  Handles& handles = *handles_;
  const int failed = uv_async_init(uv(), &handles.posted_elsewhere,
                                   [](uv_async_t* handle) { owner_of(handle).run_posted_elsewhere(); });
  NARU_ASSERT(failed == 0, "cannot create the wake-up of an event loop: {}", uv_strerror(failed));
  uv_idle_init(uv(), &handles.posted_here);
  uv_check_init(uv(), &handles.after_poll);
  uv_prepare_init(uv(), &handles.before_poll);
  uv_timer_init(uv(), &handles.timer);
  handles.posted_elsewhere.data = handles.posted_here.data = handles.after_poll.data = this;
  handles.before_poll.data = handles.timer.data = this;
  uv_check_start(&handles.after_poll, [](uv_check_t* handle) {
    auto& loop = *static_cast<EventLoop*>(handle->data);
    if (!loop.posted_here_.empty()) loop.run_posted_here();
  });
  uv_prepare_start(&handles.before_poll,
                   [](uv_prepare_t* handle) { static_cast<EventLoop*>(handle->data)->note_idle(); });
  thread_ = std::thread([this] { run_thread(); });
}

EventLoop::~EventLoop() {
  NARU_ASSERT(!is_current(), "an event loop cannot end itself");
  post([this] { close_handles(); });
  thread_.join();
  const int failed = uv_loop_close(uv());
  NARU_ASSERT(failed == 0, "cannot close event loop {}: {}", index_, uv_strerror(failed));
}

EventLoop* EventLoop::current() {
  return current_loop;
}

void EventLoop::run_thread() {
  name_this_thread("naru-loop-", index_);
  current_loop = this;
  uv_run(uv(), UV_RUN_DEFAULT);
  current_loop = nullptr;
}

void EventLoop::close_handles() {
  closing_ = true;
  const auto close = [](auto& handle) { uv_close(reinterpret_cast<uv_handle_t*>(&handle), nullptr); };
  close(handles_->posted_elsewhere);
  close(handles_->posted_here);
  close(handles_->after_poll);
  close(handles_->before_poll);
  close(handles_->timer);
  const auto complain = [](uv_handle_t* handle, void*) {
    NARU_ASSERT(uv_is_closing(handle), "an event loop ends while a {} is open", uv_handle_type_name(handle->type));
  };
  uv_walk(uv(), complain, nullptr);
}

void EventLoop::post(UniqueFunction<void()> work) {
  if (is_current()) {
    if (posted_here_.empty() && !closing_) {
      uv_idle_start(&handles_->posted_here, [](uv_idle_t* handle) { owner_of(handle).run_posted_here(); });
    }
    posted_here_.push_back(std::move(work));
    return;
  }
  const std::scoped_lock lock(posted_elsewhere_mutex_);
  posted_elsewhere_.push_back(std::move(work));
  // The first one wakes the loop, and it takes them all.
  if (posted_elsewhere_.size() == 1) uv_async_send(&handles_->posted_elsewhere);
}

void EventLoop::run(UniqueFunction<void()> work) {
  if (is_current()) {
    work();
  } else {
    post(std::move(work));
  }
}

void EventLoop::run_posted_here() {
  // What these post runs in the next turn, so that sockets and timers are not starved.
  running_.swap(posted_here_);
  for (auto& work : running_) work();
  running_.clear();
  if (posted_here_.empty()) uv_idle_stop(&handles_->posted_here);
}

void EventLoop::run_posted_elsewhere() {
  std::vector<UniqueFunction<void()>> batch;
  {
    const std::scoped_lock lock(posted_elsewhere_mutex_);
    batch.swap(posted_elsewhere_);
  }
  for (auto& work : batch) work();
}

EventLoop::TimerHandle EventLoop::start_timer(MonotonicTime deadline, UniqueFunction<void()> work) {
  bool earlier = false;
  TimerHandle handle;
  {
    const std::scoped_lock lock(wheel_mutex_);
    handle = wheel_.insert(deadline, std::move(work));
    earlier = *wheel_.next_deadline() < armed_for_;
  }
  if (earlier) run([this] { arm_timer(); });
  return handle;
}

bool EventLoop::cancel_timer(TimerHandle timer) {
  std::optional<UniqueFunction<void()>> cancelled;  // destroyed outside the lock
  const std::scoped_lock lock(wheel_mutex_);
  cancelled = wheel_.cancel(timer);
  return cancelled.has_value();
}

void EventLoop::expire_timers() {
  std::unique_lock lock(wheel_mutex_);
  armed_for_ = MonotonicTime::max();
  wheel_.expire(clock_.now(), [&lock](UniqueFunction<void()> work, MonotonicTime) {
    lock.unlock();
    work();
    work = nullptr;  // may own something that cancels timers
    lock.lock();
  });
  lock.unlock();
  arm_timer();
}

void EventLoop::arm_timer() {
  const std::scoped_lock lock(wheel_mutex_);
  const auto next = wheel_.next_deadline();
  if (!next || *next >= armed_for_) return;
  armed_for_ = *next;
  const auto due_ms = std::chrono::ceil<Milliseconds>(next->time_since_epoch()).count();
  const auto delay_ms = std::max<int64_t>(due_ms - static_cast<int64_t>(uv_now(uv())), 0);
  uv_timer_start(
      &handles_->timer, [](uv_timer_t* handle) { owner_of(handle).expire_timers(); }, static_cast<uint64_t>(delay_ms),
      0);
}

void EventLoop::note_busy() {
  if (busy_since_ns_.load(std::memory_order_relaxed) != 0) return;
  busy_since_ns_.store(clock_.now().time_since_epoch().count(), std::memory_order_relaxed);
  turns_.fetch_add(1, std::memory_order_relaxed);
  watchdog_.loop_woke();
}

void EventLoop::note_idle() {
  const int64_t since = busy_since_ns_.load(std::memory_order_relaxed);
  if (since == 0) return;
  busy_since_ns_.store(0, std::memory_order_relaxed);
  watchdog_.turn_ended(clock_.now().time_since_epoch() - Duration(since));
}

std::optional<MonotonicTime> EventLoop::busy_since() const {
  const int64_t since = busy_since_ns_.load(std::memory_order_relaxed);
  if (since == 0) return std::nullopt;
  return MonotonicTime(Duration(since));
}

}  // namespace naru
