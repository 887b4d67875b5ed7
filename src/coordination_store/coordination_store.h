// The coordination store: small, slow-changing truth about the cluster, kept as keys with versions.
//
// The smallest interface that ZooKeeper, etcd and an embedded log can all keep honestly. Deliberately weak where they
// differ: list() is not one moment (read a key that every transaction changes before and after to know that it was),
// and a key that was deleted and made again may show an old version (never delete what is compared).
//
// ErrorCode::unavailable means *outcome unknown*: the transaction may have happened or may still happen. Read again
// before retrying. ErrorCode::version_conflict, invalid_argument and disk_full mean that nothing happened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/cancellation.h"
#include "async/task.h"
#include "foundation/bytes.h"
#include "foundation/shared_bytes.h"
#include "foundation/status.h"

namespace naru {

// Changes with every put to a key. 0 means that the key is absent, so comparing with 0 is how a key is created once.
using KeyVersion = int64_t;

struct KeyValue {
  std::string key;
  SharedBytes value;
  KeyVersion version = 0;
};

struct Compare {
  std::string key;
  KeyVersion version = 0;
};

struct Put {
  std::string key;
  Bytes value;
  // Owned by this session from now on and deleted when it ends; a plain put makes the key permanent.
  bool ephemeral = false;
};

// If every compare holds, all puts and deletes happen at once; otherwise none of them. A key is put or deleted at most
// once.
struct Transaction {
  std::vector<Compare> compares;
  std::vector<Put> puts;
  std::vector<std::string> deletes;  // of an absent key: does nothing
  // What gives room back, or is needed to get there: deletions, taking office. A store whose disk is full still takes
  // these, as far as its reserve goes.
  bool may_use_reserve = false;

  size_t operation_count() const { return compares.size() + puts.size() + deletes.size(); }
  // What is held against kMaxTransactionBytes: keys, values and a flat overhead for each operation.
  size_t byte_count() const;
};

inline constexpr size_t kMaxTransactionOperations = 128;
inline constexpr size_t kMaxTransactionBytes = 1'000'000;
inline constexpr size_t kOperationOverheadBytes = 32;
inline constexpr size_t kMaxKeyBytes = 512;

// Keys are paths: components of printable ASCII without space, separated by single slashes ("topics/orders").
Status validate_key(std::string_view key);
// invalid_argument for a bad key, a key that is changed twice, or a transaction beyond the limits.
Status validate_transaction(const Transaction& transaction);
// A subject is a key, or a folder: empty (everything) or ending in a slash (every key beneath it).
Status validate_subject(std::string_view subject);
bool subject_covers(std::string_view subject, std::string_view key);

enum class SessionState : uint8_t {
  connected,
  suspended,  // no contact; ephemeral keys may or may not be alive
  expired,    // the ephemeral keys are gone
};

struct Session {
  SessionState state = SessionState::connected;
  int64_t id = 0;  // another number is another session: ephemeral keys of the old one are gone

  bool operator==(const Session&) const = default;
};

// Level-triggered: says that something changed, never what. Any thread; one call of next() at a time.
class Watch {
 public:
  virtual ~Watch() = default;

  // Returns ok when anything under the subject, or the session, may have changed since the previous call returned (the
  // first call: since the watch was made). Many changes are one event, and an event may turn out to be none. Who has
  // got an event reads what caused it, or something newer. ErrorCode::cancelled when the token is cancelled.
  virtual Task<Status> next(CancelToken token) = 0;
};

// One session. Thread-safe. Outlives every task that it returned.
class CoordinationStore {
 public:
  virtual ~CoordinationStore() = default;

  virtual Task<Result<std::optional<KeyValue>>> get(std::string key) = 0;
  // Every key under a folder, sorted by key.
  virtual Task<Result<std::vector<KeyValue>>> list(std::string folder) = 0;
  // The new versions, in the order of the puts, once they will survive a crash.
  virtual Task<Result<std::vector<KeyVersion>>> commit(Transaction transaction) = 0;
  virtual std::unique_ptr<Watch> watch(std::string subject) = 0;
  // An expired session is that for ever: every call answers unavailable, and a new store has to be opened.
  virtual Task<Session> session() = 0;
  // Ends the session at once, as far as the service can be reached; what is called later answers unavailable. A store
  // that is destroyed without it looks like a process that died: its session goes on until it times out.
  virtual Task<Status> close() = 0;
};

}  // namespace naru
