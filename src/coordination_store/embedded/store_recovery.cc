#include "coordination_store/embedded/store_recovery.h"

#include <utility>

namespace naru {
namespace {

constexpr std::string_view kWhatToDo =
    "Nothing was changed. Restore the folder from a copy, or look for a failing disk before anything else";

Status refuse(const Status& reason) {
  return error(reason.code(), "{}. {}", reason.message(),
               reason == ErrorCode::unsupported_format ? "Start the newer Naru that wrote it" : kWhatToDo);
}

Status damaged_middle(const StoreFile& log, uint64_t position, uint64_t round) {
  return error(ErrorCode::corrupt_data, "{} is damaged at byte {} (round {}), before data that was written later",
               log.path, position, round);
}

// Without the zeros at the end, which are room for later rounds. A round may also end in zeros of its own.
BytesView without_trailing_zeros(BytesView content) {
  size_t size = content.size();
  while (size > 0 && content[size - 1] == std::byte{0}) --size;
  return content.first(size);
}

// Whether anything behind `position` shows that the damaged round there had been synced: a later round was begun.
bool has_later_round(BytesView written, const LogHeader& header, uint64_t position, uint64_t damaged_round) {
  if (const auto damaged = view_round(written, position, header.log_id)) {
    if (damaged->round != damaged_round || damaged->end < written.size()) return true;
  }
  if (written.size() - position > kRoundHeaderBytes + kMaxRoundBytes) return true;
  for (uint64_t at = position + 1; at + kRoundHeaderBytes <= written.size(); ++at) {
    const auto later = view_round(written, at, header.log_id);
    if (later && later->round > damaged_round) return true;
  }
  return false;
}

Status apply_round(StoreRecovery& recovery, const RoundView& round, const StoreFile& log) {
  if (round.format_version == 0 || round.format_version > kStoreFormatVersion) {
    return error(ErrorCode::unsupported_format,
                 "{}: round {} has format version {}, and this Naru knows versions up to {}", log.path, round.round,
                 round.format_version, kStoreFormatVersion);
  }
  NARU_TRY_ASSIGN(auto entries, decode_entries(round, log.path));
  for (StoreEntry& entry : entries) apply_entry(recovery.state, std::move(entry));
  recovery.last_round = round.round;
  return {};
}

Status replay(StoreRecovery& recovery, const StoreFile& log) {
  uint64_t position = kLogHeaderBytes;
  uint64_t expected = recovery.log.first_round;
  recovery.last_round_begin = position;
  const BytesView written = without_trailing_zeros(log.content);
  while (position < written.size()) {
    const auto round = view_round(log.content, position, recovery.log.log_id);
    if (!round || !round->body_intact || round->round != expected) {
      if (has_later_round(written, recovery.log, position, expected)) return damaged_middle(log, position, expected);
      break;
    }
    if (expected > recovery.last_round) NARU_TRY(apply_round(recovery, *round, log));
    recovery.last_round_begin = position;
    position = round->end;
    ++expected;
  }
  if (expected <= recovery.last_round) {
    return error(ErrorCode::corrupt_data, "{} ends with round {}, and the snapshot beside it holds round {}", log.path,
                 expected - 1, recovery.last_round);
  }
  recovery.log_end = position;
  recovery.bytes_cut = position < written.size() ? written.size() - position : 0;
  if (expected == recovery.log.first_round) recovery.last_round_begin = position;
  return {};
}

Result<StoreRecovery> recover(const std::optional<StoreFile>& snapshot_file, const StoreFile& log) {
  StoreRecovery recovery;
  if (snapshot_file) {
    NARU_TRY_ASSIGN(Snapshot snapshot, decode_snapshot(snapshot_file->content, snapshot_file->path));
    recovery.state = std::move(snapshot.state);
    recovery.last_round = snapshot.round;
  }
  NARU_TRY_ASSIGN(recovery.log, decode_log_header(log.content, log.path));
  if (recovery.log.first_round > recovery.last_round + 1) {
    return failure(ErrorCode::corrupt_data, "{} starts with round {}, and the snapshot that should hold round {} is {}",
                   log.path, recovery.log.first_round, recovery.log.first_round - 1,
                   snapshot_file ? "older" : "missing");
  }
  NARU_TRY(replay(recovery, log));
  return recovery;
}

}  // namespace

Result<StoreRecovery> recover_store(const std::optional<StoreFile>& snapshot, const StoreFile& log) {
  auto recovery = recover(snapshot, log);
  if (!recovery) return failure(refuse(recovery.error()));
  return recovery;
}

}  // namespace naru
