#include "command_line/doctor.h"

#include <algorithm>

#include "command_line/findings.h"
#include "command_line/json_text.h"
#include "command_line/units.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"

namespace naru::command_line {
namespace {

constexpr int kSyncs = 20;
constexpr size_t kSyncBytes = 4096;
constexpr std::string_view kTrialFile = "naru-doctor.tmp";

std::string_view name_of(Verdict verdict) {
  return verdict == Verdict::ok ? "ok" : verdict == Verdict::warn ? "warn" : "fail";
}

// Blocks: writes a small file again and again, as a log does.
Result<std::vector<Duration>> measure_syncs(FileSystem& files, const Clock& clock, const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kTrialFile);
  std::vector<Duration> syncs;
  const auto measure = [&]() -> Status {
    NARU_TRY_ASSIGN(const auto file, files.open(path, OpenMode::create));
    const Bytes block(kSyncBytes, std::byte{'n'});
    for (int i = 0; i < kSyncs; ++i) {
      const MonotonicTime begun = clock.now();
      NARU_TRY(file->write_at(static_cast<uint64_t>(i) * kSyncBytes, block));
      NARU_TRY(file->sync_data());
      syncs.push_back(clock.now() - begun);
    }
    return {};
  };
  const Status measured = measure();
  ignore(files.remove_file(path));
  if (!measured.ok()) return failure(measured);
  return syncs;
}

class Examination {
 public:
  Examination(CommandContext& context, const DoctorFlags& flags)
      : context_(context), flags_(flags), client_(context.seams, client_options(context)) {}

  Task<Findings> run() {
    co_await examine_cluster();
    for (const std::string& folder : flags_.data) co_await examine_folder(folder);
    for (Finding& finding : judge_system(co_await read_facts())) findings_.push_back(std::move(finding));
    co_return std::move(findings_);
  }

 private:
  struct Contact {
    Result<client::Connection> connection;
    Duration took;
  };

  Task<Contact> contact(Endpoint address) {
    const MonotonicTime begun = context_.seams.clock.now();
    auto connection = co_await client_.connect(address);
    co_return Contact{std::move(connection), context_.seams.clock.now() - begun};
  }

  static Status status_of(const Contact& contact) { return contact.connection ? Status() : contact.connection.error(); }

  Task<void> examine_cluster() {
    client::Connection first;
    for (const Endpoint& address : context_.common.bootstrap) {
      const Contact met = co_await contact(address);
      findings_.push_back(judge_bootstrap(address, status_of(met), met.took));
      if (met.connection && !first) first = *met.connection;
    }
    if (!first) co_return;
    findings_.push_back(judge_versions(first->versions()));
    const Status refreshed = co_await client_.refresh_all();
    if (!refreshed.ok()) {
      findings_.push_back({Verdict::fail, "metadata", refreshed.message(), "look into the broker's log"});
      co_return;
    }
    const std::vector<client::BrokerInfo> brokers = client_.metadata().brokers;
    for (const client::BrokerInfo& broker : brokers) co_await examine_broker(broker);
    for (Finding& finding : judge_partitions(client_.metadata())) findings_.push_back(std::move(finding));
  }

  Task<void> examine_broker(client::BrokerInfo broker) {
    const Contact met = co_await contact(broker.address);
    Status asked = status_of(met);
    const MonotonicTime begun = context_.seams.clock.now();
    if (asked.ok()) asked = co_await ask(**met.connection);
    const Duration took = context_.seams.clock.now() - begun;
    findings_.push_back(judge_advertised(broker, asked, took, context_.common.bootstrap));
    if (asked.ok()) co_await examine_state(broker, **met.connection);
  }

  Task<void> examine_state(const client::BrokerInfo& broker, client::BrokerConnection& connection) {
    const auto clock = co_await client::ask_for_time(connection, context_.seams.clock, context_.common.timeout);
    if (clock && *clock) findings_.push_back(judge_clock(broker, **clock));
    const auto listeners = co_await client::describe_listeners(connection, broker.id, context_.common.timeout);
    if (listeners) findings_.push_back(judge_listeners(broker, *listeners));
    const auto folders = co_await client::describe_log_folders(connection, context_.common.timeout);
    if (!folders) co_return;
    for (Finding& finding : judge_folders(broker, *folders)) findings_.push_back(std::move(finding));
  }

  // Whoever answers at the address may be somebody else.
  Task<Status> ask(client::BrokerConnection& connection) {
    kafka::MetadataRequest request;
    request.allow_auto_topic_creation = false;
    NARU_CO_TRY_ASSIGN(const auto response,
                       co_await connection.call<kafka::MetadataResponse>(request, context_.common.timeout, {.min = 4}));
    if (response.cluster_id.value_or("") == client_.metadata().cluster_id) co_return Status();
    co_return error(ErrorCode::inconsistent_cluster_id, "a broker of another cluster answers: {}",
                    response.cluster_id.value_or(""));
  }

  Task<void> examine_folder(std::string folder) {
    Finding sync, space;
    co_await on_worker(context_.seams.scheduler, [&] {
      sync = judge_sync_speed(folder, measure_syncs(context_.seams.files, context_.seams.clock, folder));
      space = judge_space(folder, context_.seams.files.space(folder));
    });
    co_await to_loop(context_.seams.scheduler);
    findings_.push_back(std::move(sync));
    findings_.push_back(std::move(space));
  }

  Task<SystemFacts> read_facts() {
    SystemFacts facts = co_await on_worker(context_.seams.scheduler, [this] { return context_.system_facts(); });
    co_await to_loop(context_.seams.scheduler);
    co_return facts;
  }

  CommandContext& context_;
  const DoctorFlags& flags_;
  client::ClusterClient client_;
  Findings findings_;
};

std::string as_json(const Findings& findings) {
  JsonText json;
  json.open_array();
  for (const Finding& finding : findings) {
    json.open_object().member("verdict", name_of(finding.verdict)).member("check", finding.check);
    json.member("found", finding.found).member("advice", finding.advice).close_object();
  }
  return json.close_array().take();
}

std::string findings_as_text(const CommandContext& context, const Findings& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.check.size());
  std::string text;
  for (const Finding& finding : findings) {
    const Colour colour = finding.verdict == Verdict::ok     ? Colour::green
                          : finding.verdict == Verdict::warn ? Colour::yellow
                                                             : Colour::red;
    const std::string verdict = fmt::format("{:4}", name_of(finding.verdict));
    text += fmt::format("{}  {:{}}  {}\n", paint(context, colour, verdict), printable(finding.check), width,
                        printable(finding.found));
    if (!finding.advice.empty()) text += fmt::format("      -> {}\n", finding.advice);
  }
  return text;
}

}  // namespace

Task<ExitCode> doctor(CommandContext& context, DoctorFlags flags) {
  Examination examination(context, flags);
  const Findings findings = co_await examination.run();
  print(context, context.common.json ? as_json(findings) : findings_as_text(context, findings));
  const bool failed =
      std::ranges::any_of(findings, [](const Finding& finding) { return finding.verdict == Verdict::fail; });
  co_return failed ? ExitCode::failed : ExitCode::ok;
}

}  // namespace naru::command_line
