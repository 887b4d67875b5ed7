#include "coordination_store/embedded/store_format.h"

#include <utility>

#include "foundation/byte_writer.h"
#include "foundation/crc32c.h"

namespace naru {
namespace {

constexpr std::string_view kLogMagic = "NARUSLOG";
constexpr std::string_view kSnapshotMagic = "NARUSNAP";
constexpr uint32_t kRoundMagic = 0x4e52'4e44;  // "NRND"
constexpr uint8_t kTransactionEntry = 1;
constexpr uint8_t kSessionEndedEntry = 2;
constexpr uint8_t kEphemeralFlag = 1;

// The first 16 bytes of every file, in all versions to come: magic, version, checksum of both.
void write_preamble(ByteWriter& writer, Bytes& to, std::string_view magic) {
  writer.write_bytes(as_bytes(magic));
  writer.write_int(kStoreFormatVersion);
  writer.write_int(crc32c(to));
}

Status check_preamble(BytesView file, std::string_view magic, std::string_view path) {
  if (file.size() < kPreambleBytes || as_text(file.first(8)) != magic) {
    return error(ErrorCode::corrupt_data, "{} does not start like a file of the coordination store", path);
  }
  ByteReader reader(file.subspan(8));
  const auto version = reader.read_int<uint32_t>();
  if (reader.read_int<uint32_t>() != crc32c(file.first(12))) {
    return error(ErrorCode::corrupt_data, "{} has a damaged header", path);
  }
  if (version == 0 || version > kStoreFormatVersion) {
    return error(ErrorCode::unsupported_format, "{} has format version {}, and this Naru knows versions up to {}", path,
                 version, kStoreFormatVersion);
  }
  return {};
}

uint32_t seed_of(uint64_t log_id) {
  std::byte bytes[sizeof log_id];
  store_big_endian(bytes, log_id);
  return crc32c(bytes);
}

void write_key(ByteWriter& writer, std::string_view key) {
  writer.write_int(static_cast<uint16_t>(key.size()));
  writer.write_bytes(as_bytes(key));
}

void write_value(ByteWriter& writer, BytesView value) {
  writer.write_int(static_cast<uint32_t>(value.size()));
  writer.write_bytes(value);
}

std::string read_key(ByteReader& reader) {
  const BytesView key = reader.read_bytes(reader.read_int<uint16_t>());
  if (reader.ok() && !validate_key(as_text(key)).ok()) reader.fail("not a key");
  return std::string(as_text(key));
}

Bytes read_value(ByteReader& reader) {
  const BytesView value = reader.read_bytes(reader.read_int<uint32_t>());
  return {value.begin(), value.end()};
}

CommittedTransaction read_transaction(ByteReader& reader) {
  CommittedTransaction committed{reader.read_int<SessionId>(), {}};
  const auto puts = reader.read_int<uint16_t>();
  for (uint16_t i = 0; i < puts && reader.ok(); ++i) {
    const auto flags = reader.read_int<uint8_t>();
    if (flags > kEphemeralFlag) reader.fail("unknown flag of a put");
    std::string key = read_key(reader);
    committed.transaction.puts.push_back({std::move(key), read_value(reader), flags == kEphemeralFlag});
  }
  const auto deletes = reader.read_int<uint16_t>();
  for (uint16_t i = 0; i < deletes && reader.ok(); ++i) committed.transaction.deletes.push_back(read_key(reader));
  return committed;
}

Status entry_error(const ByteReader& reader, std::string_view path, uint64_t round) {
  return error(ErrorCode::corrupt_data, "{}: round {} has a valid checksum and does not decode ({} at byte {})", path,
               round, reader.error(), reader.position());
}

}  // namespace

Bytes encode_log_header(const LogHeader& header) {
  Bytes bytes;
  ByteWriter writer(bytes);
  write_preamble(writer, bytes, kLogMagic);
  writer.write_int(header.log_id);
  writer.write_int(header.first_round);
  writer.write_int(crc32c(bytes));
  return bytes;
}

Result<LogHeader> decode_log_header(BytesView file, std::string_view path) {
  NARU_TRY(check_preamble(file, kLogMagic, path));
  ByteReader reader(file.subspan(kPreambleBytes));
  LogHeader header;
  header.log_id = reader.read_int<uint64_t>();
  header.first_round = reader.read_int<uint64_t>();
  const auto crc = reader.read_int<uint32_t>();
  if (!reader.ok() || crc != crc32c(file.first(kLogHeaderBytes - sizeof crc)) || header.first_round == 0) {
    return failure(ErrorCode::corrupt_data, "{} has a damaged header", path);
  }
  return header;
}

void RoundBuilder::add(const Transaction& transaction, SessionId session) {
  ByteWriter writer(body_);
  writer.write_int(kTransactionEntry);
  writer.write_int(session);
  writer.write_int(static_cast<uint16_t>(transaction.puts.size()));
  for (const Put& put : transaction.puts) {
    writer.write_int(put.ephemeral ? kEphemeralFlag : uint8_t{0});
    write_key(writer, put.key);
    write_value(writer, put.value);
  }
  writer.write_int(static_cast<uint16_t>(transaction.deletes.size()));
  for (const std::string& key : transaction.deletes) write_key(writer, key);
}

void RoundBuilder::add(SessionEnded ended) {
  ByteWriter writer(body_);
  writer.write_int(kSessionEndedEntry);
  writer.write_int(ended.session);
}

Bytes RoundBuilder::finish(uint64_t log_id, uint64_t round) {
  const uint32_t seed = seed_of(log_id);
  Bytes bytes;
  bytes.reserve(kRoundHeaderBytes + body_.size());
  ByteWriter writer(bytes);
  writer.write_int(kRoundMagic);
  writer.write_int(kStoreFormatVersion);
  writer.write_int(static_cast<uint32_t>(body_.size()));
  writer.write_int(round);
  writer.write_int(crc32c_extend(seed, body_));
  writer.write_int(crc32c_extend(seed, bytes));
  writer.write_bytes(body_);
  body_.clear();
  return bytes;
}

std::optional<RoundView> view_round(BytesView file, uint64_t position, uint64_t log_id) {
  if (file.size() < kRoundHeaderBytes || position > file.size() - kRoundHeaderBytes) return std::nullopt;
  const BytesView header = file.subspan(position, kRoundHeaderBytes);
  ByteReader reader(header);
  if (reader.read_int<uint32_t>() != kRoundMagic) return std::nullopt;
  RoundView view;
  view.format_version = reader.read_int<uint32_t>();
  const auto length = reader.read_int<uint32_t>();
  view.round = reader.read_int<uint64_t>();
  const auto body_crc = reader.read_int<uint32_t>();
  const auto header_crc = reader.read_int<uint32_t>();
  const uint32_t seed = seed_of(log_id);
  if (header_crc != crc32c_extend(seed, header.first(kRoundHeaderBytes - sizeof header_crc))) return std::nullopt;

  view.end = position + kRoundHeaderBytes + length;
  if (view.end > file.size()) return view;
  const BytesView body = file.subspan(position + kRoundHeaderBytes, length);
  view.body_intact = body_crc == crc32c_extend(seed, body);
  if (view.body_intact) view.body = body;
  return view;
}

Result<std::vector<StoreEntry>> decode_entries(const RoundView& round, std::string_view path) {
  ByteReader reader(round.body);
  std::vector<StoreEntry> entries;
  while (reader.ok() && !reader.at_end()) {
    switch (reader.read_int<uint8_t>()) {
      case kTransactionEntry:
        entries.emplace_back(read_transaction(reader));
        break;
      case kSessionEndedEntry:
        entries.emplace_back(SessionEnded{reader.read_int<SessionId>()});
        break;
      default:
        reader.fail("unknown kind of entry");
    }
  }
  if (!reader.ok()) return failure(entry_error(reader, path, round.round));
  return entries;
}

void apply_entry(StoreState& state, StoreEntry entry) {
  if (const auto* ended = std::get_if<SessionEnded>(&entry)) {
    state.end_session(ended->session);
    return;
  }
  auto& committed = std::get<CommittedTransaction>(entry);
  state.apply(std::move(committed.transaction), committed.session);
}

Bytes encode_snapshot(const StoreState& state, uint64_t round) {
  Bytes bytes;
  bytes.reserve(64 + state.byte_count() + state.entries().size() * 24);
  ByteWriter writer(bytes);
  write_preamble(writer, bytes, kSnapshotMagic);
  writer.write_int(round);
  writer.write_int(static_cast<uint64_t>(state.entries().size()));
  for (const auto& [key, entry] : state.entries()) {
    write_key(writer, key);
    writer.write_int(entry.version);
    writer.write_int(entry.owner);
    write_value(writer, entry.value.view());
  }
  writer.write_int(crc32c(bytes));
  return bytes;
}

Result<Snapshot> decode_snapshot(BytesView file, std::string_view path) {
  NARU_TRY(check_preamble(file, kSnapshotMagic, path));
  const size_t end = file.size() - sizeof(uint32_t);
  if (end < kPreambleBytes || load_big_endian<uint32_t>(file.data() + end) != crc32c(file.first(end))) {
    return failure(ErrorCode::corrupt_data, "{} is damaged: its checksum does not match", path);
  }
  ByteReader reader(file.subspan(kPreambleBytes, end - kPreambleBytes));
  Snapshot snapshot;
  snapshot.round = reader.read_int<uint64_t>();
  const auto count = reader.read_int<uint64_t>();
  std::string previous;
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    std::string key = read_key(reader);
    StoreState::Entry entry;
    entry.version = reader.read_int<KeyVersion>();
    entry.owner = reader.read_int<SessionId>();
    entry.value = SharedBytes(read_value(reader));
    if (key <= previous || entry.version <= 0) reader.fail("keys out of order, or a key without version");
    if (!reader.ok()) break;
    previous = key;
    snapshot.state.restore(std::move(key), std::move(entry));
  }
  if (reader.ok() && !reader.at_end()) reader.fail("bytes behind the last key");
  if (!reader.ok()) {
    return failure(ErrorCode::corrupt_data, "{} has a valid checksum and does not decode ({} at byte {})", path,
                   reader.error(), reader.position());
  }
  return snapshot;
}

}  // namespace naru
