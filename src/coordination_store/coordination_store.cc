#include "coordination_store/coordination_store.h"

#include <set>

namespace naru {

size_t Transaction::byte_count() const {
  size_t bytes = operation_count() * kOperationOverheadBytes;
  for (const Compare& compare : compares) bytes += compare.key.size();
  for (const Put& put : puts) bytes += put.key.size() + put.value.size();
  for (const std::string& key : deletes) bytes += key.size();
  return bytes;
}

Status validate_key(std::string_view key) {
  if (key.empty() || key.size() > kMaxKeyBytes) {
    return error(ErrorCode::invalid_argument, "a key of {} bytes: 1 to {} are allowed", key.size(), kMaxKeyBytes);
  }
  char previous = '/';
  for (const char c : key) {
    if (c <= ' ' || c > '~') return error(ErrorCode::invalid_argument, "a key holds the byte {}", static_cast<int>(c));
    if (c == '/' && previous == '/') return error(ErrorCode::invalid_argument, "empty component in key {}", key);
    previous = c;
  }
  if (previous == '/') return error(ErrorCode::invalid_argument, "key {} ends in a slash", key);
  return {};
}

Status validate_transaction(const Transaction& transaction) {
  const size_t operations = transaction.operation_count();
  if (operations > kMaxTransactionOperations) {
    return error(ErrorCode::invalid_argument, "a transaction of {} operations: at most {} are allowed", operations,
                 kMaxTransactionOperations);
  }
  const size_t bytes = transaction.byte_count();
  if (bytes > kMaxTransactionBytes) {
    return error(ErrorCode::invalid_argument, "a transaction of {} bytes: at most {} are allowed", bytes,
                 kMaxTransactionBytes);
  }
  std::set<std::string_view> changed;
  const auto check_changed = [&changed](std::string_view key) -> Status {
    NARU_TRY(validate_key(key));
    if (!changed.insert(key).second) return error(ErrorCode::invalid_argument, "key {} is changed twice", key);
    return {};
  };
  for (const Compare& compare : transaction.compares) NARU_TRY(validate_key(compare.key));
  for (const Put& put : transaction.puts) NARU_TRY(check_changed(put.key));
  for (const std::string& key : transaction.deletes) NARU_TRY(check_changed(key));
  return {};
}

Status validate_subject(std::string_view subject) {
  if (subject.empty()) return {};
  if (subject.ends_with('/')) subject.remove_suffix(1);
  return validate_key(subject);
}

bool subject_covers(std::string_view subject, std::string_view key) {
  const bool is_folder = subject.empty() || subject.ends_with('/');
  return is_folder ? key.starts_with(subject) : key == subject;
}

}  // namespace naru
