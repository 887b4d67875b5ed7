// The bytes of the embedded store: docs/formats/coordination_store.md draws them.
//
// A log is a header and then rounds. A round is what one sync made durable: the entries of transactions that arrived
// together. Round n+1 is written only after round n is known to be on the disk, so only the last one can be torn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordination_store/store_state.h"
#include "foundation/byte_reader.h"
#include "foundation/bytes.h"
#include "foundation/status.h"

namespace naru {

inline constexpr uint32_t kStoreFormatVersion = 1;
inline constexpr size_t kPreambleBytes = 16;
inline constexpr size_t kLogHeaderBytes = kPreambleBytes + 20;
inline constexpr size_t kRoundHeaderBytes = 28;
inline constexpr size_t kMaxRoundBytes = 8u << 20;

struct LogHeader {
  // Random, and part of every checksum of the log: bytes of another log, or a value that imitates a round, never match.
  uint64_t log_id = 0;
  uint64_t first_round = 1;
};

struct SessionEnded {
  SessionId session = kNoSession;
};
struct CommittedTransaction {
  SessionId session = kNoSession;
  Transaction transaction;  // without its compares
};
using StoreEntry = std::variant<CommittedTransaction, SessionEnded>;

Bytes encode_log_header(const LogHeader& header);
// corrupt_data or unsupported_format; `path` is for the message.
Result<LogHeader> decode_log_header(BytesView file, std::string_view path);

// Collects the entries of one round.
class RoundBuilder {
 public:
  void add(const Transaction& transaction, SessionId session);
  void add(SessionEnded ended);

  bool empty() const { return body_.empty(); }
  size_t size() const { return body_.size(); }
  // The finished round; the builder is empty afterwards.
  Bytes finish(uint64_t log_id, uint64_t round);

 private:
  Bytes body_;
};

// What stands at a position of a log.
struct RoundView {
  uint32_t format_version = 0;
  uint64_t round = 0;
  uint64_t end = 0;  // position behind it; may lie beyond the end of the file
  bool body_intact = false;
  BytesView body;  // if intact
};
// nullopt: no intact round header there.
std::optional<RoundView> view_round(BytesView file, uint64_t position, uint64_t log_id);
// For an intact body of a known version; corrupt_data when it does not decode.
Result<std::vector<StoreEntry>> decode_entries(const RoundView& round, std::string_view path);
void apply_entry(StoreState& state, StoreEntry entry);

Bytes encode_snapshot(const StoreState& state, uint64_t round);
struct Snapshot {
  StoreState state;
  uint64_t round = 0;  // the last one that it contains
};
Result<Snapshot> decode_snapshot(BytesView file, std::string_view path);

}  // namespace naru
