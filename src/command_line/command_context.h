// What every command is given, and how it speaks.
#pragma once

#include <string>
#include <string_view>

#include "async/cancellation.h"
#include "async/task.h"
#include "client/cluster_client.h"
#include "command_line/arguments.h"
#include "command_line/terminal.h"
#include "foundation/function.h"
#include "platform/seams.h"
#include "platform/system_facts.h"

namespace naru::command_line {

enum class ExitCode : int { ok = 0, failed = 1, usage = 2 };

// Lives as long as the command. Thread: the one event loop of the platform.
struct CommandContext {
  Seams seams;
  Terminal& terminal;
  CommonFlags common;
  CancelToken interrupted;  // Ctrl-C or SIGTERM
  std::string version;
  bool colours = false;
  UniqueFunction<SystemFacts()> system_facts;  // for the doctor; blocks
};

client::ClientOptions client_options(const CommandContext& context);

// To standard output. Whoever closed the pipe does not want to hear that it is closed.
void print(CommandContext& context, std::string_view text);
// The same for much: on a worker. An error means that nobody reads any more.
Task<Status> print_on_worker(CommandContext& context, std::string text);

// One sentence on standard error.
void note(CommandContext& context, std::string_view sentence);
// What went wrong, with what to do about it if we know; as JSON with --json. For `co_return fail(...)`.
ExitCode fail(CommandContext& context, const Status& status);
// What a person might do about an error; empty if we have no idea.
std::string hint_for(const Status& status);

enum class Colour : uint8_t { green, yellow, red };
std::string paint(const CommandContext& context, Colour colour, std::string_view text);

// "1 partition", "2 partitions".
std::string counted(int64_t count, std::string_view singular);

// A line on a terminal that is written over, a few times a second; nothing elsewhere and with --json.
class Progress {
 public:
  explicit Progress(CommandContext& context);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether it is time for a new text: asked first, so that making the text costs nothing otherwise.
  bool due() const { return shown_ && context_.seams.clock.now() >= next_; }
  void show(std::string_view text);
  void clear();

 private:
  CommandContext& context_;
  const bool shown_;
  MonotonicTime next_;
  bool on_screen_ = false;
};

}  // namespace naru::command_line
