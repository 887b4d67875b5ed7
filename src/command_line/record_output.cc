#include "command_line/record_output.h"

#include <algorithm>
#include <array>
#include <utility>

#include "command_line/json_text.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

std::string_view text_of(const std::optional<BytesView>& bytes) {
  return bytes ? as_text(*bytes) : std::string_view();
}

void append_headers(std::string& to, const RecordView& record) {
  auto headers = record.headers();
  bool first = true;
  while (const auto header = headers.next()) {
    if (!std::exchange(first, false)) to += ',';
    to += header->key;
    to += '=';
    to += text_of(header->value);
  }
}

// "value", or "value_base64" for bytes that JSON cannot carry as text.
void add_bytes(JsonText& json, const std::string& name, const std::optional<BytesView>& bytes) {
  if (!bytes) {
    json.member(name, std::optional<int>());
  } else if (is_utf8(as_text(*bytes))) {
    json.member(name, as_text(*bytes));
  } else {
    json.member(name + "_base64", base64(as_text(*bytes)));
  }
}

std::string as_json(const client::TopicPartition& partition, const RecordView& record) {
  JsonText json(JsonText::Layout::one_line);
  json.open_object().member("topic", partition.topic).member("partition", partition.partition.value());
  json.member("offset", record.offset.value()).member("timestamp", record.timestamp);
  add_bytes(json, "key", record.key);
  add_bytes(json, "value", record.value);
  json.key("headers").open_array();
  auto headers = record.headers();
  while (const auto header = headers.next()) {
    json.open_object().member("key", header->key);
    add_bytes(json, "value", header->value);
    json.close_object();
  }
  return json.close_array().close_object().take();
}

// \n, \t, \\ as in most languages; anything else stays as it is.
void append_literal(std::string& to, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '\\' || (next != 'n' && next != 't' && next != '\\')) {
      to += text[i];
      continue;
    }
    to += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
    ++i;
  }
}

}  // namespace

Result<RecordOutput> RecordOutput::create(const ConsumeFlags& flags, bool json) {
  RecordOutput output;
  output.json_ = json;
  if (flags.format.empty()) {
    output.pieces_ = from_flags(flags);
  } else {
    NARU_TRY_ASSIGN(output.pieces_, parse_format(flags.format));
  }
  return output;
}

Result<std::vector<RecordOutput::Piece>> RecordOutput::parse_format(std::string_view format) {
  constexpr std::array<std::pair<std::string_view, Field>, 8> kFields{{{"topic", Field::topic},
                                                                       {"partition", Field::partition},
                                                                       {"offset", Field::offset},
                                                                       {"timestamp", Field::timestamp},
                                                                       {"time", Field::time},
                                                                       {"key", Field::key},
                                                                       {"value", Field::value},
                                                                       {"headers", Field::headers}}};
  std::vector<Piece> pieces;
  while (!format.empty()) {
    const size_t brace = format.find('{');
    if (brace != 0) {
      Piece literal{.field = Field::literal, .text = {}};
      append_literal(literal.text, format.substr(0, brace));
      pieces.push_back(std::move(literal));
      format.remove_prefix(std::min(brace, format.size()));
      continue;
    }
    const size_t end = format.find('}');
    const std::string_view name = format.substr(1, end == std::string_view::npos ? end : end - 1);
    const auto* field = std::ranges::find(kFields, name, &std::pair<std::string_view, Field>::first);
    if (end == std::string_view::npos || field == kFields.end()) {
      return failure(ErrorCode::invalid_argument,
                     "--format: {{{} is none of {{topic}} {{partition}} {{offset}} {{timestamp}} {{time}} {{key}} "
                     "{{value}} {{headers}}",
                     printable(format.substr(1, end)));
    }
    pieces.push_back({.field = field->second, .text = {}});
    format.remove_prefix(end + 1);
  }
  return pieces;
}

std::vector<RecordOutput::Piece> RecordOutput::from_flags(const ConsumeFlags& flags) {
  std::vector<Piece> pieces;
  const auto add = [&pieces](bool wanted, Field field) {
    if (!wanted) return;
    if (!pieces.empty()) pieces.push_back({.field = Field::literal, .text = "\t"});
    pieces.push_back({.field = field, .text = {}});
  };
  add(flags.timestamps, Field::time);
  add(flags.offsets, Field::partition);
  add(flags.offsets, Field::offset);
  add(flags.headers, Field::headers);
  add(flags.keys, Field::key);
  add(true, Field::value);
  return pieces;
}

void RecordOutput::append_field(std::string& to, Field field, const client::TopicPartition& partition,
                                const RecordView& record) {
  switch (field) {
    case Field::literal:
      return;
    case Field::topic:
      to += partition.topic;
      return;
    case Field::partition:
      to += std::to_string(partition.partition.value());
      return;
    case Field::offset:
      to += std::to_string(record.offset.value());
      return;
    case Field::timestamp:
      to += std::to_string(record.timestamp);
      return;
    case Field::time:
      to += format_time(record.timestamp);
      return;
    case Field::key:
      to += text_of(record.key);
      return;
    case Field::value:
      to += text_of(record.value);
      return;
    case Field::headers:
      append_headers(to, record);
      return;
  }
}

void RecordOutput::append(std::string& to, const client::TopicPartition& partition, const RecordView& record) const {
  if (json_) {
    to += as_json(partition, record);
    return;
  }
  for (const Piece& piece : pieces_) {
    if (piece.field == Field::literal) {
      to += piece.text;
    } else {
      append_field(to, piece.field, partition, record);
    }
  }
  to += '\n';
}

}  // namespace naru::command_line
