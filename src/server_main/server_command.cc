#include "server_main/server_command.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "async/wakeup.h"
#include "broker/broker.h"
#include "configuration/broker_config.h"
#include "foundation/log.h"
#include "platform/real/heap.h"
#include "platform/real/posix_file_system.h"
#include "platform/real/processors.h"
#include "platform/real/real_platform.h"
#include "platform/real/thread_timer.h"
#include "server_main/admin_page.h"

namespace naru {
namespace {

constexpr uint64_t kConfigFileBytesMax = 1 << 20;
constexpr unsigned kLastWordsSeconds = 2;

// Empty where it is not known: data folders are then used as they are written.
std::string working_folder() {
  const std::unique_ptr<char, decltype(&::free)> path(::getcwd(nullptr, 0), &::free);
  return path != nullptr ? path.get() : "";
}

Result<BrokerConfigInputs> collect_inputs(const command_line::ServerFlags& flags,
                                          const command_line::Environment& environment) {
  BrokerConfigInputs inputs{.environment = environment, .working_folder = working_folder()};
  // It is for clients; a broker may well be started by somebody who has it set.
  std::erase_if(inputs.environment,
                [](const auto& variable) { return variable.first == command_line::kBootstrapVariable; });
  if (!flags.config_file.empty()) {
    PosixFileSystem files;
    const auto content = read_whole_file(files, flags.config_file, kConfigFileBytesMax);
    if (!content)
      return failure(ErrorCode::invalid_argument, "cannot read {}: {}", flags.config_file, content.error().message());
    inputs.file_name = flags.config_file;
    inputs.file_text = as_text(*content);
  }
  const auto add = [&inputs](std::string_view key, const std::string& value, std::string_view flag) {
    if (!value.empty()) inputs.flags.push_back({std::string(key), value, fmt::format("flag {}", flag)});
  };
  add("log.dirs", flags.data, "--data");
  add("listeners", flags.kafka, "--kafka");
  add("advertised.listeners", flags.advertise, "--advertise");
  add("node.id", flags.node_id, "--node-id");
  add("naru.coordination", flags.coordination, "--coordination");
  for (const std::string& assignment : flags.set) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return failure(ErrorCode::invalid_argument, "--set {}: expected key=value", assignment);
    }
    inputs.flags.push_back({assignment.substr(0, equals), assignment.substr(equals + 1), "flag --set"});
  }
  return inputs;
}

RealPlatformOptions platform_options(const BrokerConfig& config) {
  RealPlatformOptions options;
  options.loops = static_cast<size_t>(*config.num_network_threads);
  options.workers = static_cast<size_t>(config.num_io_threads);
  options.watchdog.threshold =
      config.watchdog_stall > Milliseconds(0) ? config.watchdog_stall : WatchdogOptions::kNever;
  options.watchdog.on_stall = [](const LoopStall& stall) {
    log_warn("watchdog", "event loop {} has not come back for {} ms", stall.loop,
             std::chrono::duration_cast<Milliseconds>(stall.so_far).count());
  };
  return options;
}

// Somebody at a terminal should see at once how to go on.
void greet(const Broker& broker, const BrokerConfig& config, const std::optional<Endpoint>& admin,
           std::string_view version, Duration took) {
  Endpoint address = broker.listeners().front().address;
  if (address.is_everywhere()) address.host = "localhost";
  std::string addresses;
  for (const Broker::OpenListener& listener : broker.listeners())
    addresses += fmt::format(" {}://{}", listener.name, listener.address.to_string());
  fmt::print(stderr, "naru {} ready:{} (node {}, cluster {}, data in {}, started in {} ms)\n", version, addresses,
             config.node_id, broker.cluster_id().to_string(), config.values.string("log.dirs"),
             std::chrono::duration_cast<Milliseconds>(took).count());
  fmt::print(stderr, "  produce:  echo 'hello' | kcat -b {} -t greetings -P\n", address.to_string());
  fmt::print(stderr, "  consume:  kcat -b {} -t greetings -C -e\n", address.to_string());
  fmt::print(stderr, "  metrics:  {}\n",
             admin ? fmt::format("curl http://{}/metrics", admin->to_string()) : "off (naru.admin.listener)");
  fmt::print(stderr, "  stop:     Ctrl-C, or SIGTERM\n");
}

// By a signal, while the broker starts or runs.
struct AskedToStop {
  void by(int signal) {
    // A foreground broker whose terminal is gone stops like one that is told to; nohup keeps it.
    log_info("server", "stopping: {}", signal == SIGHUP ? "its terminal is gone (SIGHUP)" : ::strsignal(signal));
    source.cancel();
    wakeup.wake();
  }

  CancelSource source;
  Wakeup wakeup;
};

// A disk that hangs, or a loop that does not come back, must not keep the process for ever. What is lost is the mark of
// a clean shutdown. On a thread that no loop and no worker holds up.
void give_up(Milliseconds timeout) {
  // Writing the log line may block, too: a stuck thread may hold the log's lock, or nothing reads the log.
  ::signal(SIGALRM, [](int) { ::_exit(1); });
  ::alarm(kLastWordsSeconds);
  log_error(
      "server",
      "not stopped within {} ms (naru.shutdown.timeout.ms): the process ends now, and the next start recovers the "
      "logs",
      timeout.count());
  ::_exit(1);
}

struct Outcome {
  int exit_code = 1;
};

Task<void> serve(RealPlatform& platform, const BrokerConfig& config, std::string_view version, AdminPage* admin,
                 ThreadTimer& stop_limit, Outcome& outcome, std::unique_ptr<Broker>& broker) {
  const Seams seams = platform.seams();
  const MonotonicTime begun = seams.clock.now();
  const auto asked = std::make_shared<AskedToStop>();
  platform.on_termination_signal([asked](int signal) { asked->by(signal); },
                                 [&stop_limit, &config] { stop_limit.start(config.shutdown_timeout); });

  const HeapKeeper heap(seams.clock, seams.scheduler);
  auto started = co_await Broker::start(seams, config, asked->source.token());
  if (!started && started.error() == ErrorCode::cancelled) {
    log_info("server", "stopped before it had started");
    outcome.exit_code = 0;
    co_return;
  }
  if (!started) {
    log_error("server", "not started: {}", started.error().message());
    co_return;
  }
  broker = std::move(*started);

  const auto stalls =
      broker->metrics().computed_gauge("naru_event_loop_stalls", "Times an event loop stalled", {},
                                       [&platform] { return static_cast<double>(platform.loop_stalls()); });
  const auto longest_stall = broker->metrics().computed_gauge(
      "naru_event_loop_longest_stall_seconds", "The longest of them", {},
      [&platform] { return std::chrono::duration<double>(platform.longest_loop_stall()).count(); });
  const auto queued_work =
      broker->metrics().computed_gauge("naru_worker_queue_length", "Blocking work that waits for a worker", {},
                                       [&platform] { return static_cast<double>(platform.queued_blocking_work()); });
  if (admin != nullptr) admin->show(broker.get());
  greet(*broker, config, admin != nullptr ? std::optional(admin->address()) : std::nullopt, version,
        seams.clock.now() - begun);

  co_await asked->wakeup.event();
  if (admin != nullptr) admin->show(nullptr);
  const Status stopped = co_await broker->stop();
  if (stopped.ok()) {
    log_info("server", "stopped; every log is closed");
    outcome.exit_code = 0;
  } else {
    log_error("server", "unclean shutdown: {}", stopped.message());
  }
}

}  // namespace

int run_server(const command_line::ServerFlags& flags, const command_line::Environment& environment,
               std::string_view version) {
  const auto inputs = collect_inputs(flags, environment);
  auto config = inputs ? load_broker_config(*inputs) : Result<BrokerConfig>(failure(inputs.error()));
  if (!config) {
    fmt::print(stderr, "naru: {}\n", config.error().message());
    return 2;
  }
  if (!config->num_network_threads) config->num_network_threads = static_cast<int32_t>(processor_count());
  set_log_level(config->log_level);
  for (const std::string& sentence : ineffective_keys(*config)) log_warn("configuration", "{}", sentence);
  for (const std::string& sentence : listener_warnings(config->listeners)) log_warn("configuration", "{}", sentence);

  std::unique_ptr<AdminPage> admin;
  if (config->admin_listener) {
    auto listening = AdminPage::start(*config->admin_listener);
    if (!listening) {
      log_error("server", "not started: {}", listening.error().message());
      return 1;
    }
    admin = std::move(*listening);
  }
  Outcome outcome;
  ThreadTimer stop_limit([timeout = config->shutdown_timeout] { give_up(timeout); });  // to the very end
  std::unique_ptr<Broker> broker;  // destroyed when no thread of the platform can reach it any more
  {
    RealPlatform platform(platform_options(*config));
    platform.run(serve(platform, *config, version, admin.get(), stop_limit, outcome, broker));
  }
  return outcome.exit_code;
}

}  // namespace naru
