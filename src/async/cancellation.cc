#include "async/cancellation.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace naru {
namespace detail {

struct CancelState {
  std::mutex mutex;
  std::condition_variable callback_finished;
  bool cancelled = false;
  uint64_t next_id = 1;
  uint64_t running_id = 0;
  std::thread::id running_on;
  std::map<uint64_t, UniqueFunction<void()>> callbacks;
};

}  // namespace detail

bool CancelToken::cancelled() const {
  if (!state_) return false;
  const std::scoped_lock lock(state_->mutex);
  return state_->cancelled;
}

CancelSource::CancelSource() : state_(std::make_shared<detail::CancelState>()) {}

void CancelSource::cancel() {
  const auto state = state_;  // a callback may destroy this source
  std::unique_lock lock(state->mutex);
  if (state->cancelled) return;
  state->cancelled = true;
  while (!state->callbacks.empty()) {
    auto node = state->callbacks.extract(state->callbacks.begin());
    state->running_id = node.key();
    state->running_on = std::this_thread::get_id();
    lock.unlock();
    node.mapped()();
    lock.lock();
    state->running_id = 0;
    state->callback_finished.notify_all();
  }
}

CancelCallback::CancelCallback(const CancelToken& token, UniqueFunction<void()> function) : state_(token.state_) {
  if (!state_) return;
  {
    const std::scoped_lock lock(state_->mutex);
    if (!state_->cancelled) {
      id_ = state_->next_id++;
      state_->callbacks.emplace(id_, std::move(function));
      return;
    }
  }
  function();
}

CancelCallback::~CancelCallback() {
  if (!state_ || id_ == 0) return;
  std::unique_lock lock(state_->mutex);
  if (state_->callbacks.erase(id_) > 0) return;
  if (state_->running_on == std::this_thread::get_id()) return;  // the waiter was resumed by this very callback
  state_->callback_finished.wait(lock, [this] { return state_->running_id != id_; });
}

}  // namespace naru
