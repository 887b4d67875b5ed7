#include "command_line/command_context.h"

#include "command_line/json_text.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

constexpr Duration kProgressInterval = 200ms;

}  // namespace

client::ClientOptions client_options(const CommandContext& context) {
  return {.bootstrap = context.common.bootstrap,
          .request_timeout = context.common.timeout,
          .client_id = "naru-cli",
          .software_version = context.version};
}

void print(CommandContext& context, std::string_view text) {
  ignore(context.terminal.write_output(text));
}

Task<Status> print_on_worker(CommandContext& context, std::string text) {
  if (text.empty()) co_return Status();
  Status written =
      co_await on_worker(context.seams.scheduler, [&context, &text] { return context.terminal.write_output(text); });
  co_await to_loop(context.seams.scheduler);
  co_return written;
}

void note(CommandContext& context, std::string_view sentence) {
  context.terminal.write_error(fmt::format("naru: {}\n", sentence));
}

std::string hint_for(const Status& status) {
  const std::string& message = status.message();
  const auto says = [&message](std::string_view part) { return message.find(part) != std::string::npos; };
  if (says("no broker could be reached"))
    return "Is a broker running there? `naru server` starts one on 127.0.0.1:9092. --bootstrap HOST:PORT or "
           "NARU_BOOTSTRAP names another.";
  if (says("which cannot be reached from here"))
    return "The broker was reached, but it sends clients to another address. Start it with an address that works here "
           "(naru server --advertise HOST:PORT); `naru doctor` tells more.";
  if (says("cannot be understood") || says("closed the connection"))
    return "Is that the port for Kafka clients, without TLS?";
  if (says("it did not answer")) return "Is the broker overloaded or stopped? --timeout allows more time.";
  switch (status.code()) {  // NOLINT(clang-diagnostic-switch-enum): the few with a good answer
    case ErrorCode::unknown_topic_or_partition:
      return "`naru topic list` shows the topics that exist; `naru topic create NAME` creates one.";
    case ErrorCode::topic_already_exists:
      return "`naru topic describe NAME` shows it.";
    case ErrorCode::invalid_config:
      return "`naru topic config NAME --all` shows every key of a topic; docs/configuration.md says what each may be.";
    case ErrorCode::group_id_not_found:
      return "`naru group list` shows the groups that exist.";
    case ErrorCode::transactional_id_not_found:
      return "`naru txn list` shows those that exist. One that nobody uses is forgotten after "
             "transactional.id.expiration.ms.";
    case ErrorCode::concurrent_transactions:
      return "Its transaction is still being ended: `naru txn describe ID` names its partitions, `naru cluster status` "
             "those without a leader.";
    case ErrorCode::non_empty_group:
    case ErrorCode::unknown_member_id:
      return "Stop the group's members first; `naru group describe NAME` shows them. One that was killed counts until "
             "its "
             "session times out.";
    case ErrorCode::coordinator_load_in_progress:
      return "The broker reads its groups after a start: try again, or allow more time with --timeout.";
    case ErrorCode::message_too_large:
      return "The limit is the topic's max.message.bytes.";
    case ErrorCode::unsupported_version:
      return "`naru doctor` tells what this broker offers.";
    default:
      return "";
  }
}

ExitCode fail(CommandContext& context, const Status& status) {
  const std::string message = status.message().empty() ? status.to_string() : status.message();
  const std::string hint = hint_for(status);
  if (context.common.json) {
    JsonText json(JsonText::Layout::one_line);
    json.open_object().key("error").open_object();
    json.member("code", describe(status.code()).name).member("message", message);
    if (!hint.empty()) json.member("hint", hint);
    context.terminal.write_error(json.close_object().close_object().take());
  } else {
    note(context, printable(message));
    if (!hint.empty()) context.terminal.write_error(fmt::format("  {}\n", hint));
  }
  return ExitCode::failed;
}

std::string paint(const CommandContext& context, Colour colour, std::string_view text) {
  if (!context.colours) return std::string(text);
  const int number = colour == Colour::green ? 32 : colour == Colour::yellow ? 33 : 31;
  return fmt::format("\033[{}m{}\033[0m", number, text);
}

std::string counted(int64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

Progress::Progress(CommandContext& context)
    : context_(context),
      shown_(!context.common.json && context.terminal.is_interactive(Terminal::Channel::error)),
      next_(context.seams.clock.now() + kProgressInterval) {}

void Progress::show(std::string_view text) {
  if (!shown_) return;
  context_.terminal.write_error(fmt::format("\r\033[K{}", text));
  next_ = context_.seams.clock.now() + kProgressInterval;
  on_screen_ = true;
}

void Progress::clear() {
  if (std::exchange(on_screen_, false)) context_.terminal.write_error("\r\033[K");
}

}  // namespace naru::command_line
