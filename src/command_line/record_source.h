// Where the records of `naru produce` come from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "command_line/command_context.h"

namespace naru::command_line {

struct SourceRecord {
  std::optional<std::string_view> key;
  std::string_view value;
};

// Thread: the event loop. Views are valid until the next call.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // A record that is at hand; nothing: call more(). An error ends it all.
  virtual Result<std::optional<SourceRecord>> next() = 0;
  // Gets more to read, on a worker. False: there is no more.
  virtual Task<Result<bool>> more() = 0;
};

// Lines of standard input or of a file, or records made up: as the flags say. An error names the file.
Task<Result<std::unique_ptr<RecordSource>>> open_source(CommandContext& context, const ProduceFlags& flags);

}  // namespace naru::command_line
