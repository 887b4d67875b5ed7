// The messages of etcd's JSON gateway, version 3. No I/O; answers are hostile.
//
// The key "topics/a" of the store is the key ROOT/keys/topics/a of etcd. Beside it, ROOT/sessions/ID lives as long as
// the session's lease, so that a transaction can make sure that its session has not ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordination_store/coordination_store.h"

namespace naru {

class EtcdKeys {
 public:
  // `root` begins with a slash and does not end with one.
  explicit EtcdKeys(std::string root) : keys_(root + "/keys/"), sessions_(root + "/sessions/") {}

  std::string stored(std::string_view key) const { return keys_ + std::string(key); }
  std::string session(int64_t lease) const { return sessions_ + std::to_string(lease); }
  // Nothing for a key outside the root.
  std::optional<std::string> key(std::string_view stored) const;

 private:
  std::string keys_, sessions_;
};

// A key, or all keys that begin with it.
struct EtcdRange {
  std::string key;
  bool is_prefix = false;
};
EtcdRange range_of(const EtcdKeys& keys, std::string_view subject);

std::string etcd_get_request(const std::string& stored_key);
// `after`: only keys behind this one.
std::string etcd_list_request(const EtcdRange& range, const std::string& after, int limit);
std::string etcd_transaction_request(const Transaction& transaction, const EtcdKeys& keys, int64_t lease);
std::string etcd_put_session_request(const EtcdKeys& keys, int64_t lease);
std::string etcd_watch_request(const EtcdRange& range);
std::string etcd_grant_request(int64_t seconds);
std::string etcd_lease_request(int64_t lease);  // keepalive, revoke

struct EtcdListing {
  std::vector<KeyValue> values;  // with stored keys
  bool more = false;
};
Result<EtcdListing> parse_etcd_listing(std::string_view body);

struct EtcdOutcome {
  bool succeeded = false;
  bool session_exists = true;  // known if it did not succeed
  int64_t revision = 0;
};
Result<EtcdOutcome> parse_etcd_outcome(std::string_view body);
// The id of the lease.
Result<int64_t> parse_etcd_grant(std::string_view body);
// The seconds left; 0: there is no such lease.
Result<int64_t> parse_etcd_keepalive(std::string_view body);
// Whether the line ends the watch.
bool etcd_watch_is_over(std::string_view line);

// What an answer that is not 200 means.
struct EtcdRefusal {
  Status status;
  bool lease_is_gone = false;
};
EtcdRefusal parse_etcd_refusal(int http_status, std::string_view body);

}  // namespace naru
