#include "coordination_store/store_state.h"

#include <utility>

namespace naru {

std::optional<KeyValue> StoreState::get(std::string_view key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return KeyValue{found->first, found->second.value, found->second.version};
}

std::vector<KeyValue> StoreState::list(std::string_view folder) const {
  std::vector<KeyValue> found;
  for (auto at = entries_.lower_bound(folder); at != entries_.end() && at->first.starts_with(folder); ++at) {
    found.push_back({at->first, at->second.value, at->second.version});
  }
  return found;
}

Status StoreState::check(const Transaction& transaction) const {
  for (const Compare& compare : transaction.compares) {
    const auto found = entries_.find(compare.key);
    const KeyVersion version = found == entries_.end() ? 0 : found->second.version;
    if (version != compare.version) {
      return error(ErrorCode::version_conflict, "key {} has version {}, not {}", compare.key, version, compare.version);
    }
  }
  return {};
}

std::vector<KeyVersion> StoreState::apply(Transaction transaction, SessionId session) {
  std::vector<KeyVersion> versions;
  versions.reserve(transaction.puts.size());
  for (Put& put : transaction.puts) {
    const auto [at, created] = entries_.try_emplace(std::move(put.key));
    Entry& entry = at->second;
    byte_count_ += put.value.size() + (created ? at->first.size() : 0);
    byte_count_ -= entry.value.size();
    entry.value = SharedBytes(std::move(put.value));
    entry.owner = put.ephemeral ? session : kNoSession;
    versions.push_back(++entry.version);
  }
  for (const std::string& key : transaction.deletes) {
    if (const auto found = entries_.find(key); found != entries_.end()) erase(found);
  }
  return versions;
}

std::vector<std::string> StoreState::end_session(SessionId session) {
  std::vector<std::string> deleted;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto current = at++;
    if (current->second.owner != session || session == kNoSession) continue;
    deleted.push_back(current->first);
    erase(current);
  }
  return deleted;
}

std::set<SessionId> StoreState::sessions() const {
  std::set<SessionId> found;
  for (const auto& [key, entry] : entries_) {
    if (entry.owner != kNoSession) found.insert(entry.owner);
  }
  return found;
}

void StoreState::restore(std::string key, Entry entry) {
  byte_count_ += key.size() + entry.value.size();
  entries_.insert_or_assign(entries_.end(), std::move(key), std::move(entry));
}

void StoreState::erase(Entries::iterator at) {
  byte_count_ -= at->first.size() + at->second.value.size();
  entries_.erase(at);
}

}  // namespace naru
