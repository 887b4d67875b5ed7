// Reading segments again, to find bits that have changed on the disk since they were written.
//
// A damaged batch is found by its CRC; what the CRC does not cover (base offset, length, leader epoch) by what comes
// before it and by the log's epochs. Reading only: what to do about damage is decided elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/batch_stream.h"
#include "log_storage/epoch_history.h"
#include "platform/file_system.h"

namespace naru {

// The first damaged batch of a log, as far as it was read.
struct LogDamage {
  std::string path;
  Offset segment;  // its base offset
  uint64_t position = 0;
  Offset offset;  // where the damaged batch begins
  std::string what;
  // False: the records are whole, and what is damaged is only which leader epoch they belong to.
  bool unreadable = true;

  std::string to_string() const;
  bool operator==(const LogDamage&) const = default;
};

// A segment as far as it was written when the strand was asked for it.
struct WrittenSegment {
  std::shared_ptr<const File> file;
  Offset base_offset;
  Offset end_offset;
  bool active = false;  // it may grow
  uint64_t bytes = 0;
  uint64_t truncations = 0;  // of the log
  EpochHistory epochs;       // likewise
};

// Thread: a worker, because reading blocks.
class SegmentVerification {
 public:
  explicit SegmentVerification(const WrittenSegment& segment);

  // Reads the next batch. The result: its bytes; 0 when there is no more to read. corrupt_message when it is damaged:
  // damage() says how. Other errors mean that it could not be read.
  Result<uint64_t> next();
  const std::optional<LogDamage>& damage() const { return damage_; }

 private:
  Status damaged(uint64_t position, Offset offset, std::string what, bool unreadable);

  const WrittenSegment& segment_;
  BatchStream stream_;
  std::optional<LogDamage> damage_;
};

}  // namespace naru
