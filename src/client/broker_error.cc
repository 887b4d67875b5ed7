#include "client/broker_error.h"

#include <algorithm>

namespace naru::client {
namespace {

// nullptr for numbers that Naru gives no meaning. describe() is for our own codes and would end the process.
const ErrorRow* find_row(ErrorCode code) {
  const auto rows = error_table();
  const auto found = std::ranges::find(rows, code, &ErrorRow::code);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

Status broker_error(ErrorCode code, std::string_view about, const std::optional<std::string>& words) {
  if (code == ErrorCode::none) return {};
  const ErrorRow* row = find_row(code);
  if (row == nullptr) {
    return error(ErrorCode::unknown_server_error, "{}: error {} of the protocol{}", about, static_cast<int>(code),
                 words ? ", " + *words : "");
  }
  return error(code, "{}: {} ({})", about, words && !words->empty() ? std::string_view(*words) : row->meaning,
               row->name);
}

Status topic_error(ErrorCode code, std::string_view topic) {
  const bool unknown = code == ErrorCode::unknown_topic_or_partition;
  return broker_error(code, fmt::format("topic {}", topic),
                      unknown ? std::optional<std::string>("there is no such topic") : std::nullopt);
}

bool is_retriable(ErrorCode code) {
  const ErrorRow* row = find_row(code);
  return row != nullptr && row->retriable;
}

bool needs_new_metadata(ErrorCode code) {
  switch (code) {  // NOLINT(clang-diagnostic-switch-enum): the few that tell about leaders
    case ErrorCode::unknown_topic_or_partition:
    case ErrorCode::leader_not_available:
    case ErrorCode::not_leader_or_follower:
    case ErrorCode::replica_not_available:
    case ErrorCode::network_exception:
    case ErrorCode::kafka_storage_error:
    case ErrorCode::fenced_leader_epoch:
    case ErrorCode::unknown_leader_epoch:
    case ErrorCode::unknown_topic_id:
    case ErrorCode::not_controller:
      return true;
    default:
      return false;
  }
}

bool may_have_happened(ErrorCode code) {
  const ErrorRow* row = find_row(code);
  return row == nullptr || row->maybe_persisted;
}

}  // namespace naru::client
