#include "coordination_store/etcd/etcd_watches.h"

#include <utility>

#include "async/in_strand.h"

namespace naru {
namespace {

constexpr Duration kReconnectAfter = 100ms;

}  // namespace

class EtcdWatches::SubjectWatch final : public Watch {
 public:
  SubjectWatch(std::shared_ptr<EtcdWatches> watches, std::string subject)
      : watches_(std::move(watches)), subject_(std::move(subject)), registered_(watches_->registry_.watch(subject_)) {
    watches_->add(subject_);
  }
  ~SubjectWatch() override { watches_->remove(subject_); }

  Task<Status> next(CancelToken token) override { return registered_->next(std::move(token)); }

 private:
  const std::shared_ptr<EtcdWatches> watches_;
  const std::string subject_;
  const std::unique_ptr<Watch> registered_;
};

std::unique_ptr<Watch> EtcdWatches::watch(std::string subject) {
  return std::make_unique<SubjectWatch>(shared_from_this(), std::move(subject));
}

void EtcdWatches::add(std::string subject) {
  strand_.run([this, subject = std::move(subject)] {
    const auto [found, is_new] = subjects_.try_emplace(subject);
    ++found->second.users;
    if (is_new && !stopped_) tasks_.spawn(follow(subject));
  });
}

void EtcdWatches::remove(std::string subject) {
  strand_.run([this, subject = std::move(subject)] {
    const auto found = subjects_.find(subject);
    if (found != subjects_.end() && --found->second.users == 0) stop_stream(found->second);
  });
}

Task<void> EtcdWatches::follow(std::string subject) {
  co_await to_loop(seams_.scheduler);
  for (;;) {
    OneShot<> ended;
    if (!co_await in_strand(strand_, [&] { return start_stream(subject, ended); })) co_return;
    co_await ended;
    ignore(co_await sleep_until(seams_.scheduler, seams_.clock.now() + kReconnectAfter, tasks_.token()));
  }
}

bool EtcdWatches::start_stream(const std::string& subject, OneShot<>& ended) {
  const auto found = subjects_.find(subject);
  if (stopped_ || found->second.users == 0) {
    subjects_.erase(found);
    return false;
  }
  Scheduler& scheduler = seams_.scheduler;
  found->second.stream = client_.http().start_stream(
      client_.request("/v3/watch", etcd_watch_request(range_of(keys_, subject))),
      [self = weak_from_this(), &scheduler, subject](std::string_view line) {
        scheduler.post([self, subject, is_over = etcd_watch_is_over(line)] {
          if (const auto kept = self.lock()) kept->on_event(subject, is_over);
        });
      },
      [&scheduler, &ended] { scheduler.post([&ended] { ended.set(); }); });
  return true;
}

void EtcdWatches::on_event(const std::string& subject, bool is_over) {
  const std::string changed[] = {subject};
  registry_.keys_changed(changed);
  if (!is_over) return;
  const auto self = shared_from_this();  // until the strand is left
  strand_.run([this, &subject] {
    const auto found = subjects_.find(subject);
    if (found != subjects_.end()) stop_stream(found->second);
  });
}

void EtcdWatches::stop_stream(const Subject& subject) {
  if (subject.stream != 0 && !stopped_) client_.http().stop_stream(subject.stream);
}

void EtcdWatches::session_changed() {
  registry_.session_changed();
  strand_.run([this] {
    if (!stopped_) client_.http().stop_all_streams();
  });
}

Task<void> EtcdWatches::stop() {
  co_await in_strand(strand_, [this] { return stopped_ = true; });
  client_.http().stop_all_streams();
  tasks_.cancel();
  co_await tasks_.join();
  registry_.session_changed();
}

}  // namespace naru
