#include "broker/produced_batch.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "observability/memory_budget.h"
#include "record_format/batch_recompression.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithZstd = 7;

ProduceRules rules_for(const TopicConfig& config, const BrokerConfig& broker, int16_t version) {
  return {.max_message_bytes = static_cast<size_t>(config.max_message_bytes),
          .timestamp_type = config.timestamp_type == MessageTimestampType::log_append_time
                                ? TimestampType::log_append_time
                                : TimestampType::create_time,
          .timestamp_before_max_ms = config.timestamp_before_max_ms,
          .timestamp_after_max_ms = config.timestamp_after_max_ms,
          .key_required = config.compacted,
          .max_decompressed_bytes = broker.max_decompressed_bytes,
          .allow_zstd = version >= kFirstVersionWithZstd};
}

// Most batches expand a few times: memory for that is reserved first, and only what expands further is tried again with
// memory for the most that is allowed. Small batches use what each thread has anyway.
Result<ValidatedBatch> validate(const BrokerServices& services, BytesView records, ProduceRules rules,
                                std::vector<RejectedRecord>* rejected, UseOfRecords* use) {
  constexpr size_t kSmallBatch = 32 * 1024;
  constexpr uint64_t kOfEachThread = 1 << 20;
  constexpr uint64_t kUsualExpansion = 8;
  constexpr uint64_t kCopiesWhileGrowing = 2;
  const uint64_t most = rules.max_decompressed_bytes;
  const WallTimeMs now = services.clock.wall_now_ms();
  const auto header = parse_batch_header(records);
  if (!header || header->compression() == Compression::none) {
    return validate_produced_batch(records, rules, now, rejected, use);
  }
  const auto within = [&](uint64_t limit, bool pay) -> Result<ValidatedBatch> {
    const auto memory = pay ? services.memory.try_reserve(MemoryAccount::decompression, kCopiesWhileGrowing * limit)
                            : std::optional(MemoryLease());
    if (!memory) return failure(ErrorCode::out_of_memory_budget, "no memory to decompress the batch; try again");
    rules.max_decompressed_bytes = limit;
    return validate_produced_batch(records, rules, now, rejected, use);
  };
  const uint64_t usual = std::min(most, kOfEachThread + kUsualExpansion * records.size());
  auto validated = within(usual, records.size() > kSmallBatch);
  if (validated || validated.error() != ErrorCode::message_too_large || usual == most) return validated;
  return within(most, true);
}

// None: as the producer chose.
std::optional<CompressionChoice> codec_of(const TopicConfig& config) {
  switch (config.compression) {
    case TopicCompression::producer:
      return std::nullopt;
    case TopicCompression::uncompressed:
      return CompressionChoice{Compression::none};
    case TopicCompression::gzip:
      return CompressionChoice{Compression::gzip, config.compression_level};
    case TopicCompression::snappy:
      return CompressionChoice{Compression::snappy};
    case TopicCompression::lz4:
      return CompressionChoice{Compression::lz4, config.compression_level};
    case TopicCompression::zstd:
      return CompressionChoice{Compression::zstd, config.compression_level};
  }
  return std::nullopt;
}

// A batch that is no part of a request, and pays for itself.
struct PaidBytes {
  MemoryLease memory;
  Bytes bytes;
};

// Puts a batch, once its records are known to be valid, into another codec. What goes wrong here stays apart from what
// is wrong with the batch as it came: only for that is there a second try.
class Recompression {
 public:
  Recompression(const BrokerServices& services, const TopicConfig& config, CompressionChoice choice, BytesView batch)
      : services_(services),
        max_message_bytes_(static_cast<size_t>(config.max_message_bytes)),
        choice_(choice),
        batch_(batch) {}

  void recompress(BytesView records) { status_ = try_to_recompress(records); }

  const Status& status() const { return status_; }
  SharedBytes take() {
    const BytesView view = result_->bytes;
    return {std::move(result_), view};
  }

 private:
  Status too_large(size_t bytes) const {
    return error(ErrorCode::message_too_large,
                 "the batch has {} bytes in {} (compression.type), max.message.bytes is {}", bytes,
                 compression_name(choice_.codec), max_message_bytes_);
  }

  Status try_to_recompress(BytesView records) {
    const size_t uncompressed = kBatchHeaderSize + records.size();
    if (choice_.codec == Compression::none && uncompressed > max_message_bytes_) return too_large(uncompressed);
    auto memory = services_.memory.try_reserve(MemoryAccount::decompression,
                                               kBatchHeaderSize + compression_memory(choice_, records.size()));
    if (!memory) return error(ErrorCode::out_of_memory_budget, "no memory to recompress the batch; try again");
    NARU_TRY_ASSIGN(Bytes bytes, recompress_batch(batch_, records, choice_));
    if (bytes.size() > max_message_bytes_) return too_large(bytes.size());
    bytes.shrink_to_fit();  // it had to have room for what cannot be compressed
    memory->shrink_to(bytes.capacity());
    result_ = std::make_shared<PaidBytes>(std::move(*memory), std::move(bytes));
    return Status();
  }

  const BrokerServices& services_;
  const size_t max_message_bytes_;
  const CompressionChoice choice_;
  const BytesView batch_;
  Status status_;
  std::shared_ptr<PaidBytes> result_;
};

}  // namespace

bool is_to_be_recompressed(const TopicConfig& config, BytesView batch) {
  if (config.compression == TopicCompression::producer) return false;
  const auto header = parse_batch_header(batch);
  return header && header->compression() != codec_of(config)->codec;
}

Result<ValidatedBatch> check_produced_batch(const BrokerServices& services, const TopicConfig& config, int16_t version,
                                            SharedBytes& batch, std::vector<RejectedRecord>* rejected) {
  const ProduceRules rules = rules_for(config, services.config, version);
  if (!is_to_be_recompressed(config, batch.view())) {
    return validate(services, batch.view(), rules, rejected, nullptr);
  }
  Recompression recompression(services, config, *codec_of(config), batch.view());
  UseOfRecords use = [&recompression](BytesView records) {
    recompression.recompress(records);
    return Status();
  };
  NARU_TRY_ASSIGN(ValidatedBatch validated, validate(services, batch.view(), rules, rejected, &use));
  NARU_TRY(Status(recompression.status()));
  batch = recompression.take();
  NARU_TRY_ASSIGN(validated.header, parse_batch_header(batch.view()));
  return validated;
}

}  // namespace naru
