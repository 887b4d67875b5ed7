#include "command_line/produce_command.h"

#include <algorithm>

#include "client/producer.h"
#include "command_line/json_text.h"
#include "command_line/latency_summary.h"
#include "command_line/record_source.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

constexpr size_t kGeneratedSizeMax = 256u << 20;

double in_seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e9;
}
double in_milliseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

// One run of the command. Thread: the event loop.
class ProduceRun {
 public:
  ProduceRun(CommandContext& context, const ProduceFlags& flags)
      : context_(context),
        flags_(flags),
        client_(context.seams, client_options(context)),
        producer_(client_, producer_options(), [this](const client::Delivery& delivery) { count(delivery); }),
        started_(context.seams.clock.now()) {}

  Task<ExitCode> run() {
    Status status = co_await send_everything();
    co_await producer_.flush();
    const Duration took = context_.seams.clock.now() - started_;
    client_.close();
    co_await producer_.close();
    progress_.clear();
    if (status.ok()) status = first_failure_;
    const bool cut_short =
        context_.interrupted.cancelled() &&
        (flags_.count || !flags_.file.empty() || !context_.terminal.is_interactive(Terminal::Channel::input));
    if (status.ok() || delivered_ > 0) print(context_, context_.common.json ? as_json(took) : as_text(took));
    if (!status.ok()) co_return fail(context_, status);
    if (cut_short) note(context_, "interrupted before the end of the input");
    co_return cut_short ? ExitCode::failed : ExitCode::ok;
  }

 private:
  client::ProducerOptions producer_options() const {
    client::ProducerOptions options;
    options.acks = static_cast<int16_t>(flags_.acks);
    options.batches.compression = flags_.compression;
    options.batches.delivery_timeout = context_.common.timeout;
    options.topic_timeout = std::min(options.topic_timeout, context_.common.timeout);
    return options;
  }

  void count(const client::Delivery& delivery) {
    const auto records = static_cast<uint64_t>(delivery.records);
    if (delivery.status.ok()) {
      delivered_ += records;
      latency_.add(delivery.took, records);
    } else {
      failed_ += records;
      if (first_failure_.ok()) first_failure_ = delivery.status;
    }
  }

  // Until the source ends, a record is refused, or a delivery failed.
  Task<Status> send_everything() {
    NARU_CO_TRY_ASSIGN(const auto source, co_await open_source(context_, flags_));
    while (first_failure_.ok() && !context_.interrupted.cancelled()) {
      NARU_CO_TRY_ASSIGN(const auto record, source->next());
      if (!record) {
        NARU_CO_TRY_ASSIGN(const bool more, co_await source->more());
        if (!more) break;
        continue;
      }
      co_await keep_to_rate();
      NARU_CO_TRY(co_await send(*record));
      if (progress_.due()) show_progress();
    }
    co_return Status();
  }

  Task<void> keep_to_rate() {
    if (flags_.rate <= 0) co_return;
    const Duration due(static_cast<int64_t>(static_cast<double>(taken_) * 1e9 / flags_.rate));
    if (started_ + due <= context_.seams.clock.now()) co_return;
    ignore(co_await sleep_until(context_.seams.scheduler, started_ + due, context_.interrupted));
  }

  Task<Status> send(const SourceRecord& record) {
    NewRecord made{.timestamp = context_.seams.clock.wall_now_ms(),
                   .key = record.key.transform(as_bytes),
                   .value = as_bytes(record.value)};
    for (const auto& [key, value] : flags_.headers) made.headers.push_back({.key = key, .value = as_bytes(value)});
    ++taken_;
    bytes_ += record.value.size() + (record.key ? record.key->size() : 0);
    co_return co_await producer_.send(flags_.topic, flags_.partition, std::move(made));
  }

  void show_progress() {
    const double seconds = in_seconds(context_.seams.clock.now() - started_);
    const std::string of = flags_.count ? " of " + format_count(*flags_.count) : "";
    progress_.show(fmt::format("{}{} records, {}/s", format_count(delivered_), of,
                               format_bytes(static_cast<uint64_t>(static_cast<double>(bytes_) / seconds))));
  }

  std::string as_text(Duration took) const {
    std::string text = fmt::format("produced {} record{} ({}) to {}", format_count(delivered_),
                                   delivered_ == 1 ? "" : "s", format_bytes(bytes_), flags_.topic);
    if (flags_.count) {
      const double seconds = in_seconds(took);
      text += fmt::format(" in {}: {} records/s, {}/s; latency p50 {}, p99 {}, max {}", format_duration(took),
                          format_count(static_cast<uint64_t>(static_cast<double>(delivered_) / seconds)),
                          format_bytes(static_cast<uint64_t>(static_cast<double>(bytes_) / seconds)),
                          format_duration(latency_.percentile(50)), format_duration(latency_.percentile(99)),
                          format_duration(latency_.max()));
    }
    return text + "\n";
  }

  std::string as_json(Duration took) const {
    JsonText json;
    json.open_object().member("topic", flags_.topic).member("records", delivered_).member("failed", failed_);
    json.member("bytes", bytes_).member("seconds", in_seconds(took)).key("latency_ms").open_object();
    json.member("p50", in_milliseconds(latency_.percentile(50)));
    json.member("p99", in_milliseconds(latency_.percentile(99)));
    json.member("max", in_milliseconds(latency_.max())).close_object();
    return json.close_object().take();
  }

  CommandContext& context_;
  const ProduceFlags& flags_;
  client::ClusterClient client_;
  client::Producer producer_;
  Progress progress_{context_};
  const MonotonicTime started_;
  uint64_t taken_ = 0, bytes_ = 0, delivered_ = 0, failed_ = 0;
  LatencySummary latency_;
  Status first_failure_;
};

}  // namespace

Task<ExitCode> produce(CommandContext& context, ProduceFlags flags) {
  if (flags.count && flags.size > kGeneratedSizeMax) {
    co_return fail(context, error(ErrorCode::invalid_argument, "--size: at most {}", format_bytes(kGeneratedSizeMax)));
  }
  const CancelCallback end_input(context.interrupted, [&context] { context.terminal.interrupt_input(); });
  ProduceRun run(context, flags);
  co_return co_await run.run();
}

}  // namespace naru::command_line
