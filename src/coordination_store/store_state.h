// The contents of a coordination store and the rules of its transactions. No I/O, no clock: equal inputs give equal
// states.
//
// What is applied has been checked; replaying the applied entries in order gives the same state again, versions
// included.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordination_store/coordination_store.h"

namespace naru {

using SessionId = int64_t;
inline constexpr SessionId kNoSession = 0;  // the owner of a permanent key

// Not thread-safe. Copying shares the values.
class StoreState {
 public:
  struct Entry {
    SharedBytes value;
    KeyVersion version = 0;
    SessionId owner = kNoSession;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  std::optional<KeyValue> get(std::string_view key) const;
  std::vector<KeyValue> list(std::string_view folder) const;

  // ok, or version_conflict naming the first compare that does not hold.
  Status check(const Transaction& transaction) const;
  // Ignores the compares. Returns the new versions in the order of the puts.
  std::vector<KeyVersion> apply(Transaction transaction, SessionId session);
  // Deletes the ephemeral keys of a session and returns their names.
  std::vector<std::string> end_session(SessionId session);
  // The sessions that own keys.
  std::set<SessionId> sessions() const;

  // For loading a snapshot: puts an entry as it was.
  void restore(std::string key, Entry entry);

  const Entries& entries() const { return entries_; }
  // Bytes of keys and values.
  size_t byte_count() const { return byte_count_; }

 private:
  void erase(Entries::iterator at);

  Entries entries_;
  size_t byte_count_ = 0;
};

}  // namespace naru
