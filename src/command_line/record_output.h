// How `naru consume` shows a record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/cluster_metadata.h"
#include "command_line/arguments.h"
#include "record_format/record_reader.h"

namespace naru::command_line {

class RecordOutput {
 public:
  // invalid_argument: a --format with a word in braces that means nothing.
  static Result<RecordOutput> create(const ConsumeFlags& flags, bool json);

  // Appends the record and a newline. Values are written as they are, whatever bytes they have.
  void append(std::string& to, const client::TopicPartition& partition, const RecordView& record) const;

 private:
  enum class Field : uint8_t { literal, topic, partition, offset, timestamp, time, key, value, headers };
  struct Piece {
    Field field;
    std::string text;  // of a literal
  };

  static Result<std::vector<Piece>> parse_format(std::string_view format);
  static std::vector<Piece> from_flags(const ConsumeFlags& flags);
  static void append_field(std::string& to, Field field, const client::TopicPartition& partition,
                           const RecordView& record);

  std::vector<Piece> pieces_;
  bool json_ = false;
};

}  // namespace naru::command_line
