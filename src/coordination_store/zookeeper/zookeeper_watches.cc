#include "coordination_store/zookeeper/zookeeper_watches.h"

#include <algorithm>
#include <utility>

#include <zookeeper/zookeeper.h>

#include "async/in_strand.h"

namespace naru {
namespace {

constexpr Duration kRetryAfter = 100ms;
constexpr size_t kNodesAtOnce = 500;

}  // namespace

class ZooKeeperWatches::SubjectWatch final : public Watch {
 public:
  SubjectWatch(std::shared_ptr<ZooKeeperWatches> watches, std::string subject)
      : watches_(std::move(watches)), subject_(std::move(subject)), registered_(watches_->registry_.watch(subject_)) {
    watches_->add(subject_);
  }
  ~SubjectWatch() override { watches_->remove(subject_); }

  Task<Status> next(CancelToken token) override { return registered_->next(std::move(token)); }

 private:
  const std::shared_ptr<ZooKeeperWatches> watches_;
  const std::string subject_;
  const std::unique_ptr<Watch> registered_;
};

std::unique_ptr<Watch> ZooKeeperWatches::watch(std::string subject) {
  return std::make_unique<SubjectWatch>(shared_from_this(), std::move(subject));
}

void ZooKeeperWatches::add(std::string subject) {
  strand_.run([this, subject = std::move(subject)] {
    ++subjects_[subject].users;
    set(subject);
  });
}

void ZooKeeperWatches::remove(std::string subject) {
  strand_.run([this, subject = std::move(subject)] {
    const auto found = subjects_.find(subject);
    if (--found->second.users == 0 && !found->second.setting) subjects_.erase(found);
  });
}

void ZooKeeperWatches::on_node_changed(std::string node) {
  const auto changed = paths_.subject_of(node);
  if (!changed) return;
  const auto self = shared_from_this();  // until the strand is left
  strand_.run([this, &changed] {
    for (const auto& [subject, state] : subjects_) {
      if (subject_covers(subject, *changed)) set(subject);
    }
  });
}

void ZooKeeperWatches::set(const std::string& subject) {
  Subject& state = subjects_.find(subject)->second;
  if (stopped_) return;
  if (std::exchange(state.setting, true)) {
    state.again = true;
    return;
  }
  tasks_.spawn(set_and_tell(subject));
}

void ZooKeeperWatches::done(const std::string& subject) {
  const auto found = subjects_.find(subject);
  found->second.setting = false;
  if (found->second.users == 0) {
    subjects_.erase(found);
  } else if (std::exchange(found->second.again, false)) {
    set(subject);
  }
}

Task<void> ZooKeeperWatches::set_and_tell(std::string subject) {
  co_await to_loop(seams_.scheduler);
  while (client_.session().state != SessionState::expired) {
    if (co_await set_watches(subject)) break;
    ignore(co_await sleep_until(seams_.scheduler, seams_.clock.now() + kRetryAfter, tasks_.token()));
  }
  const std::string changed[] = {subject};
  registry_.keys_changed(changed);
  strand_.run([this, &subject] { done(subject); });
}

Task<bool> ZooKeeperWatches::set_watches(std::string subject) {
  if (subject.empty() || subject.ends_with('/')) co_return co_await watch_folder(std::move(subject));
  const auto reply = co_await client_.exists(paths_.value_node(subject), true);
  co_return reply.code == ZOK || reply.code == ZNONODE;
}

Task<bool> ZooKeeperWatches::watch_folder(std::string folder) {
  const std::string node = paths_.folder_node(folder);
  auto listed = co_await client_.children(node, true);
  while (listed.code == ZNONODE) {
    const auto reply = co_await client_.exists(node, true);
    if (reply.code != ZOK) co_return reply.code == ZNONODE;
    listed = co_await client_.children(node, true);
  }
  if (listed.code != ZOK) co_return false;
  const size_t count = listed.children.size();
  std::vector<char> ok(count, 0);
  for (size_t begin = 0; begin < count; begin += kNodesAtOnce) {
    TaskGroup group;
    for (size_t i = begin; i < std::min(count, begin + kNodesAtOnce); ++i) {
      group.spawn(watch_child(node + "/" + listed.children[i], ok[i]));
    }
    co_await group.join();
  }
  co_return std::ranges::all_of(ok, [](char one) { return one != 0; });
}

Task<void> ZooKeeperWatches::watch_child(std::string node, char& ok) {
  const auto subject = paths_.subject_of(node);
  ok = !subject || co_await set_watches(*subject) ? 1 : 0;
}

Task<void> ZooKeeperWatches::stop() {
  co_await in_strand(strand_, [this] { return stopped_ = true; });
  tasks_.cancel();
  co_await tasks_.join();
  registry_.session_changed();
}

}  // namespace naru
