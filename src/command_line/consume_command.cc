#include "command_line/consume_command.h"

#include "client/broker_error.h"
#include "client/consumer.h"
#include "client/fetched_records.h"
#include "command_line/record_output.h"
#include "command_line/start_positions.h"

namespace naru::command_line {
namespace {

using client::FetchedPartition;
using client::TopicPartition;

// One run of the command. Thread: the event loop.
class ConsumeRun {
 public:
  ConsumeRun(CommandContext& context, const ConsumeFlags& flags, RecordOutput output)
      : context_(context),
        flags_(flags),
        output_(std::move(output)),
        client_(context.seams, client_options(context)),
        consumer_(client_, {.isolation = flags.isolation}),
        last_success_(context.seams.clock.now()) {}

  Task<ExitCode> run() {
    Status status = co_await choose_partitions();
    if (status.ok()) status = co_await read_until_done();
    client_.close();
    co_await consumer_.close();
    co_return status.ok() ? ExitCode::ok : fail(context_, status);
  }

 private:
  Task<Status> choose_partitions() {
    NARU_CO_TRY(co_await client_.refresh({flags_.topic}));
    const client::TopicInfo* topic = client_.metadata().find_topic(flags_.topic);
    const ErrorCode code = topic == nullptr ? ErrorCode::unknown_topic_or_partition : topic->error;
    NARU_CO_TRY(client::topic_error(code, flags_.topic));
    std::vector<TopicPartition> partitions;
    for (const PartitionIndex index : flags_.partitions) partitions.push_back({flags_.topic, index});
    for (const TopicPartition& partition : partitions) {
      if (client_.metadata().find_partition(partition) == nullptr) {
        co_return error(ErrorCode::invalid_argument, "topic {} has no partition {}: it has 0 to {}", flags_.topic,
                        partition.partition, topic->partitions.size() - 1);
      }
    }
    if (partitions.empty()) {
      for (const auto& partition : topic->partitions) partitions.push_back({flags_.topic, partition.index});
    }
    // In this order: records that come in between do not look as if something held them back.
    NARU_CO_TRY_ASSIGN(const auto ends, co_await client::list_offsets(client_, partitions, client::kLatest));
    NARU_CO_TRY_ASSIGN(ranges_, co_await find_ranges(client_, partitions, flags_.from,
                                                     context_.seams.clock.wall_now_ms(), flags_.isolation));
    for (const auto& [partition, range] : ranges_) {
      if (range.end < ends.at(partition).offset) note_open_transaction(partition, range.end);
    }
    for (const auto& [partition, range] : ranges_) {
      if (flags_.follow || range.begin < range.end) consumer_.seek(partition, range.begin);
    }
    co_return Status();
  }

  void note_open_transaction(const TopicPartition& partition, Offset from) {
    note(context_,
         fmt::format("{}: what is at offset {} and behind it waits for the end of a transaction: naru txn list "
                     "shows it, --isolation-level read_uncommitted prints it",
                     partition.to_string(), from));
  }

  // Ends with ok at the end of the partitions, after --count records, on Ctrl-C, and when nobody reads any more.
  Task<Status> read_until_done() {
    while (!consumer_.positions().empty() && !enough()) {
      const auto answer = co_await consumer_.poll(context_.interrupted);
      if (context_.interrupted.cancelled()) co_return Status();
      if (answer) {
        NARU_CO_TRY(take_answer(*answer));
      } else {
        NARU_CO_TRY(bear_with(answer.error()));
      }
      const Status written = co_await print_on_worker(context_, std::exchange(text_, {}));
      if (!written.ok() || context_.terminal.output_is_closed()) co_return Status();
    }
    co_return Status();
  }

  bool enough() const { return flags_.count && printed_ >= *flags_.count; }

  Status take_answer(const std::vector<FetchedPartition>& answer) {
    bool nothing = true;
    for (const FetchedPartition& fetched : answer) {
      NARU_TRY(take_partition(fetched));
      nothing = nothing && fetched.status.ok() && fetched.records.empty();
    }
    // A broker that has something returns something. If it has nothing although offsets are left, the last records
    // were compacted away, and waiting for them would take for ever.
    if (nothing && !flags_.follow) {
      for (const FetchedPartition& fetched : answer) consumer_.remove(fetched.partition);
    }
    return {};
  }

  Status take_partition(const FetchedPartition& fetched) {
    if (fetched.status == ErrorCode::offset_out_of_range) return skip_to_what_is_there(fetched);
    if (!fetched.status.ok()) return bear_with(fetched.status);
    last_success_ = context_.seams.clock.now();
    complained_ = false;
    const Offset end = ranges_.at(fetched.partition).end;
    const auto visit = [&](const RecordView& record) {
      if (!flags_.follow && record.offset >= end) return false;
      if (enough()) return false;
      output_.append(text_, fetched.partition, record);
      ++printed_;
      return !enough();
    };
    auto next = client::visit_records(fetched.records.bytes(), fetched.position, visit, fetched.aborted);
    if (!next) return error(next.error().code(), "{}: {}", fetched.partition.to_string(), next.error().message());
    consumer_.seek(fetched.partition, *next);
    if (!flags_.follow && *next >= end) consumer_.remove(fetched.partition);
    return {};
  }

  // Retention was faster than we are, or a leader without the last records took over.
  Status skip_to_what_is_there(const FetchedPartition& fetched) {
    const Offset there = fetched.position < fetched.log_start ? fetched.log_start : fetched.high_watermark;
    if (there < Offset(0)) return fetched.status;
    note(context_, fmt::format("{}: offset {} does not exist any more; going on at {}", fetched.partition.to_string(),
                               fetched.position, there));
    consumer_.seek(fetched.partition, there);
    return {};
  }

  // Waits for better times: as long as it takes with --follow, else as long as --timeout allows.
  Status bear_with(const Status& status) {
    if (!client::is_retriable(status.code())) return status;
    if (!flags_.follow && context_.seams.clock.now() - last_success_ >= context_.common.timeout) return status;
    if (!std::exchange(complained_, true)) note(context_, fmt::format("{}; trying again", status.message()));
    return {};
  }

  CommandContext& context_;
  const ConsumeFlags& flags_;
  const RecordOutput output_;
  client::ClusterClient client_;
  client::Consumer consumer_;
  std::map<TopicPartition, ReadRange> ranges_;
  std::string text_;  // not written yet
  uint64_t printed_ = 0;
  MonotonicTime last_success_;
  bool complained_ = false;
};

}  // namespace

Task<ExitCode> consume(CommandContext& context, ConsumeFlags flags) {
  auto output = RecordOutput::create(flags, context.common.json);
  if (!output) {
    fail(context, output.error());
    co_return ExitCode::usage;
  }
  ConsumeRun run(context, flags, std::move(*output));
  co_return co_await run.run();
}

}  // namespace naru::command_line
