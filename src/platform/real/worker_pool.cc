#include "platform/real/worker_pool.h"

#include <utility>

#include "foundation/assert.h"
#include "platform/real/thread_name.h"

namespace naru {

WorkerPool::WorkerPool(size_t limit) : limit_(limit) {
  NARU_ASSERT(limit > 0, "no workers");
}

WorkerPool::~WorkerPool() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  work_or_end_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::submit(UniqueFunction<void()> job) {
  const std::scoped_lock lock(mutex_);
  jobs_.push_back(std::move(job));
  const size_t queued_before = jobs_.size() - 1;  // each of them counts on a parked thread, if there was one
  if (parked_ > queued_before) {
    work_or_end_.notify_one();
  } else if (threads_.size() < limit_ && !ending_) {
    start_thread();
  }
}

void WorkerPool::set_limit(size_t limit) {
  NARU_ASSERT(limit > 0, "no workers");
  const std::scoped_lock lock(mutex_);
  limit_ = limit;
  for (size_t wanted = jobs_.size(); wanted > parked_ && threads_.size() < limit_ && !ending_; --wanted) start_thread();
  work_or_end_.notify_all();
}

void WorkerPool::start_thread() {
  threads_.emplace_back([this, index = threads_.size()] {
    name_this_thread("naru-worker-", index);
    run();
  });
}

size_t WorkerPool::queued() const {
  const std::scoped_lock lock(mutex_);
  return jobs_.size();
}

size_t WorkerPool::threads() const {
  const std::scoped_lock lock(mutex_);
  return threads_.size();
}

void WorkerPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!may_take_job() && !(ending_ && jobs_.empty())) {
      ++parked_;
      work_or_end_.wait(lock);
      --parked_;
    }
    if (jobs_.empty()) return;
    UniqueFunction<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    ++busy_;
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    --busy_;
  }
}

}  // namespace naru
