#include "broker/broker.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "access/authorizer.h"
#include "async/task_group.h"
#include "broker/broker_services.h"
#include "broker/cluster_membership.h"
#include "broker/descriptor_shares.h"
#include "broker/fetch_sessions.h"
#include "broker/group_coordinators.h"
#include "broker/hosted_partitions.h"
#include "broker/late_work.h"
#include "broker/log_maintenance.h"
#include "broker/log_verifier.h"
#include "broker/marker_writer.h"
#include "broker/partition_keeper.h"
#include "broker/producer_id_pool.h"
#include "broker/request_dispatcher.h"
#include "broker/request_metrics.h"
#include "broker/retry_timer.h"
#include "broker/stop_phases.h"
#include "broker/transaction_coordinators.h"
#include "broker/transaction_link.h"
#include "cluster_control/controller_shell.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/turnstile.h"
#include "coordination_store/open_store.h"
#include "foundation/log.h"
#include "foundation/shared_cell.h"
#include "log_storage/producer_accounting.h"
#include "network/connection_server.h"
#include "observability/memory_budget.h"

namespace naru {
namespace {

// A leader that hears nothing of the cluster takes no records after twice its session and this: so long a question to
// the controller may wait for its answer. Until then another controller has come.
constexpr Duration kContactMargin = 10s;
// Of a broker that waits for its coordination service.
constexpr Duration kPauseBetweenTries = 2s;
constexpr Duration kLongestTry = 10s;
constexpr Duration kShortestTry = 1s;

constexpr std::string_view kMetadataFolder = "__metadata";
// On top of the memory budget, one part in so many for small requests that would stand in line behind large ones.
constexpr uint64_t kSmallRequestsPart = 16;

ConnectionSettings connection_settings(const BrokerConfig& config, const DescriptorShares& shares) {
  return {.max_frame_bytes = static_cast<size_t>(config.socket_request_max_bytes),
          .max_in_flight = static_cast<size_t>(config.max_inflight_requests_per_connection),
          .idle_timeout = config.connections_max_idle,
          .max_unsent_files = shares.pinned_files_per_connection};
}

// With one listener, or several of which none is set apart, clients and brokers share the first.
ListenerPurpose purpose_of(const ListenerConfig& listener, const BrokerConfig& config) {
  if (listener.name != config.inter_broker_listener) return ListenerPurpose::clients;
  const bool set_apart = config.listeners.size() > 1 && config.values.is_set("inter.broker.listener.name");
  return set_apart ? ListenerPurpose::brokers : ListenerPurpose::clients_and_brokers;
}

ServerLimits server_limits(const BrokerConfig& config) {
  return {.max_connections = static_cast<size_t>(config.max_connections),
          .max_connections_per_address = static_cast<size_t>(config.max_connections_per_ip),
          .per_address_overrides = config.max_connections_per_ip_overrides};
}

// A part of what the largest request leaves of the budget, so that no request waits for what is kept for a day.
uint64_t producer_memory(const BrokerConfig& config) {
  const uint64_t largest = static_cast<uint64_t>(config.socket_request_max_bytes) + config.max_decompressed_bytes;
  return (config.memory_budget_bytes - largest) / 4;
}

Result<std::vector<std::unique_ptr<LogDirectory>>> open_directories(Seams seams, const BrokerConfig& config) {
  std::vector<std::unique_ptr<LogDirectory>> directories;
  for (const std::string& folder : config.log_dirs) {
    NARU_TRY_ASSIGN(auto directory, LogDirectory::open(seams.files, folder, config.node_id, seams.random));
    directories.push_back(std::move(directory));
  }
  return directories;
}

// What the data folders say of the broker's past.
struct FolderFacts {
  bool clean_shutdown = true;
  Uuid cluster_id;  // zero: of none yet
};

// A folder that is new was not left in disorder.
FolderFacts facts_of(const std::vector<std::unique_ptr<LogDirectory>>& directories) {
  FolderFacts facts;
  for (const auto& directory : directories) {
    const DirectoryIdentity identity = directory->identity();
    if (identity.cluster_id.is_zero()) continue;
    facts.clean_shutdown = facts.clean_shutdown && directory->was_clean_shutdown();
    facts.cluster_id = identity.cluster_id;
  }
  return facts;
}

bool is_one_address(const Endpoint& address) {
  return !address.host.empty() && !address.is_everywhere() && address.port != 0;
}

// A broker that is alone may leave its address open: clients are told the one that they have reached. Others have to
// know it.
Result<std::vector<BrokerListener>> advertised_listeners(const BrokerConfig& config, bool in_cluster) {
  std::vector<BrokerListener> listeners;
  if (in_cluster && !config.values.is_set("listeners")) {
    return failure(ErrorCode::invalid_config,
                   "brokers of a cluster have to reach each other, and this one would listen on {} only: set listeners "
                   "(--kafka), for instance PLAINTEXT://HOST:9092",
                   config.listeners.front().bind.to_string());
  }
  for (const ListenerConfig& listener : config.listeners) {
    Endpoint address = listener.advertised.value_or(Endpoint{in_cluster ? listener.bind.host : "", listener.bind.port});
    if (in_cluster && !is_one_address(address)) {
      return failure(ErrorCode::invalid_config,
                     "brokers of a cluster have to know each other's addresses, and listener {} has '{}': set "
                     "advertised.listeners, for instance {}://HOST:9092",
                     listener.name, address.to_string(), listener.name);
    }
    listeners.push_back({.name = listener.name,
                         .host = std::move(address.host),
                         .port = address.port,
                         .security_protocol = std::to_underlying(listener.security_protocol)});
  }
  // Other brokers use the first one.
  const auto chosen = std::ranges::find(listeners, config.inter_broker_listener, &BrokerListener::name);
  if (chosen != listeners.end()) std::rotate(listeners.begin(), chosen, chosen + 1);
  return listeners;
}

}  // namespace

// The object graph, in the order of construction; destroyed in reverse.
struct Broker::Parts {
  // The controller has to know, and a log that went offline because something ran out is opened again later.
  struct OfflineNews final : OfflineLogObserver {
    explicit OfflineNews(Parts& p) : parts(p) {}
    void offline_logs_changed() override {
      parts.cluster->offline_logs().offline_logs_changed();
      if (parts.keeper->wants_another_try()) parts.retry.set_wanted(true);
    }
    void damage_suspected(const LogId& id) override { parts.verifier->suspect(id); }
    Parts& parts;
  };

  Parts(Seams s, BrokerConfig c, Overrides o)
      : seams(s),
        config(std::move(c)),
        overrides(std::move(o)),
        live_config(config),
        memory(config.memory_budget_bytes),
        small_requests(config.memory_budget_bytes / kSmallRequestsPart),
        memory_gauges(memory.register_metrics(metrics)),
        request_metrics(metrics),
        producer_accounting(memory, producer_memory(config), metrics),
        fetch_sessions(seams.clock, seams.random, static_cast<size_t>(config.max_fetch_sessions), metrics),
        shares(seams.files.open_file_limit()),
        file_pins(shares.pinned_files, shares.pinned_files_per_connection),
        open_files(seams.files, shares.cached_files),
        unsynced_logs(shares.unsynced_files, metrics) {}

  Seams seams;
  const BrokerConfig config;
  Overrides overrides;
  LiveConfig live_config;
  std::mutex obey_mutex;
  LogLevel obeyed_log_level = config.log_level;
  MetricsRegistry metrics;
  MemoryBudget memory;
  MemoryBudget small_requests;
  std::vector<GaugeCallback> memory_gauges;
  RequestMetrics request_metrics;
  std::unique_ptr<Authorizer> authorizer =
      overrides.authorizer ? std::move(overrides.authorizer) : std::make_unique<ListenerRights>();
  std::unique_ptr<Quotas> quotas = overrides.quotas ? std::move(overrides.quotas) : std::make_unique<Unlimited>();
  std::atomic<uint64_t> watcher_ids{1};
  ProducerAccounting producer_accounting;
  FetchSessions fetch_sessions;
  const DescriptorShares shares;
  FilePins file_pins;
  GaugeCallback file_pins_gauge =
      metrics.computed_gauge("naru_unsent_files",
                             "Files that answers keep open until their clients have read them; beyond a limit, records "
                             "are copied into the answers instead",
                             {}, [this] { return static_cast<double>(file_pins.used()); });
  OpenFiles open_files;  // before the partitions, whose logs use it to their end
  UnsyncedLogs unsynced_logs;
  HostedPartitions hosted;
  ClusterContact contact{2 * config.coordination_session_timeout + kContactMargin, seams.clock.now()};
  std::unique_ptr<CoordinationStore> store;
  MetadataPublisher metadata;
  SharedCell<const MetadataImage> role_image{std::make_shared<const MetadataImage>()};  // the newest that gave roles
  Turnstile coordinator_turns{0};
  std::unique_ptr<ControllerShell> controller;
  std::unique_ptr<ClusterMembership> cluster;
  std::unique_ptr<PartitionKeeper> keeper;
  ProducerIdPool producer_ids{[this] { return cluster->controller().allocate_producer_ids(); },
                              [this] { return metadata.current()->cluster().producer_ids_at_deletion; }};
  GroupCoordinators groups{seams, config, hosted, metadata, metrics, &memory};
  MarkerWriter marker_writer{seams, hosted, groups, unsynced_logs};
  std::unique_ptr<TransactionCoordinators> transactions;
  std::unique_ptr<TransactionLink> transaction_link;
  std::unique_ptr<LogVerifier> verifier;
  std::unique_ptr<LogMaintenance> maintenance;
  LateWork late_work{seams.scheduler};
  std::optional<BrokerServices> services;
  std::unique_ptr<RequestDispatcher> dispatcher;
  std::vector<std::unique_ptr<Door>> extra_doors;
  std::unique_ptr<ConnectionServer> server;
  GaugeCallback connections_gauge;
  CancelSource stop_source;                 // ends waits for the coordination service and the controller
  std::atomic<bool> store_replaced{false};  // by one that was opened later
  RetryTimer retry{seams, [this] { return metadata.follow_again(); }};
  OfflineNews offline_news{*this};
  std::mutex background_mutex;
  bool stopping = false;  // nothing new begins in the background
  TaskGroup background;
  std::vector<OpenListener> open_listeners;
  std::vector<BrokerListener> registered_listeners;  // as others are told
  FolderFacts folders;

  bool in_cluster() const {
    return overrides.open_store || config.coordination.service != CoordinationService::embedded;
  }
  Task<Status> open_storage();
  StoreOptions store_options(const LogDirectory& first) const;
  Task<Result<std::unique_ptr<CoordinationStore>>> open_session(const LogDirectory& first);
  Overrides::OpenStore reopen_store(const LogDirectory& first);
  void make_transactions();
  uint64_t newest_connection();
  Task<Status> start_controller();
  Status open_doors();
  Status open_listener(const ListenerOptions& listener, Door& door);
  Task<void> take_roles(MetadataImagePtr image);
  Task<void> follow_metadata(MetadataImagePtr image);
  Task<void> tell_coordinators();
  void obey_config();
  void start_maintenance();
  Task<void> confirm_deletions(std::vector<Uuid> topics);
  Task<void> stop_coordinators();
  Task<void> stop_requests(StopPhases& phases);
  Task<void> end_requests();
  Task<void> stop_cluster();
  Task<void> stop_partition_work();
  Task<void> close_logs(Status& closed);
  Task<void> close_store(Status& closed);
};

Broker::Broker(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Broker::~Broker() = default;

const std::vector<Broker::OpenListener>& Broker::listeners() const {
  return parts_->open_listeners;
}
Uuid Broker::cluster_id() const {
  return parts_->metadata.current()->cluster().cluster_id;
}
MetricsRegistry& Broker::metrics() {
  return parts_->metrics;
}

const HostedPartitions& Broker::partitions() const {
  return parts_->hosted;
}
const GroupCoordinators& Broker::groups() const {
  return parts_->groups;
}
const TransactionCoordinators& Broker::transactions() const {
  return *parts_->transactions;
}
const MemoryBudget& Broker::memory() const {
  return parts_->memory;
}
ControllerView Broker::controller() const {
  return parts_->controller->controller();
}

Task<Result<std::unique_ptr<Broker>>> Broker::start(Seams seams, BrokerConfig config, CancelToken cancelled) {
  return start(seams, std::move(config), Overrides(), cancelled);
}

Task<Result<std::unique_ptr<Broker>>> Broker::start(Seams seams, BrokerConfig config, Overrides overrides,
                                                    CancelToken cancelled) {
  std::unique_ptr<Broker> broker(new Broker(std::make_unique<Parts>(seams, std::move(config), std::move(overrides))));
  if (broker->parts_->overrides.begun) broker->parts_->overrides.begun(*broker);
  Status started;
  {
    const CancelCallback on_cancel(cancelled, [&parts = *broker->parts_] { parts.stop_source.cancel(); });
    started = co_await start_parts(*broker->parts_);
  }
  if (started.ok() && cancelled.cancelled()) started = Status(ErrorCode::cancelled);
  if (!started.ok()) {
    ignore(co_await broker->stop());
    co_return failure(cancelled.cancelled() ? Status(ErrorCode::cancelled) : started);
  }
  co_return broker;
}

Task<Status> Broker::start_parts(Parts& parts) {
  NARU_CO_TRY_ASSIGN(parts.registered_listeners, advertised_listeners(parts.config, parts.in_cluster()));
  NARU_CO_TRY(co_await parts.open_storage());
  co_await to_loop(parts.seams.scheduler);
  // Before others hear of this broker and send clients to it. They wait until it knows what to answer.
  NARU_CO_TRY(parts.open_doors());
  NARU_CO_TRY(co_await parts.start_controller());
  co_await parts.groups.start();
  co_await parts.transactions->start();
  co_await to_loop(parts.seams.scheduler);
  parts.start_maintenance();
  parts.server->serve();
  co_return Status();
}

Task<Status> Broker::Parts::open_storage() {
  NARU_CO_TRY_ASSIGN(auto directories,
                     co_await on_worker(seams.scheduler, [this] { return open_directories(seams, config); }));
  folders = facts_of(directories);
  NARU_CO_TRY_ASSIGN(store, co_await open_session(*directories.front()));
  controller = std::make_unique<ControllerShell>(
      ControllerShell::Parts{.store = *store,
                             .publisher = metadata,
                             .metrics = metrics,
                             .config = config,
                             .clock = seams.clock,
                             .random = seams.random,
                             .scheduler = seams.scheduler,
                             .session_timeout = config.coordination_session_timeout,
                             .reopen_store = reopen_store(*directories.front()),
                             .write_epoch = [this](int64_t epoch) { return keeper->write_broker_epoch(epoch); }});
  cluster = std::make_unique<ClusterMembership>(ClusterMembership::Parts{.seams = seams,
                                                                         .config = config,
                                                                         .controller = *controller,
                                                                         .metadata = metadata,
                                                                         .role_image = role_image,
                                                                         .hosted = hosted,
                                                                         .metrics = metrics,
                                                                         .contact = contact});
  make_transactions();
  const ProducerRules producers{.limits = {.max_producers = static_cast<size_t>(config.max_producers_per_partition),
                                           .expiration_ms = config.producer_id_expiration.count()},
                                .clock = &seams.clock,
                                .accounting = &producer_accounting};
  verifier = std::make_unique<LogVerifier>(LogVerifier::Parts{.seams = seams,
                                                              .self = config.node_id,
                                                              .live_config = live_config,
                                                              .hosted = hosted,
                                                              .image = [this] { return role_image.load(); },
                                                              .contact = contact,
                                                              .metrics = metrics});
  keeper = std::make_unique<PartitionKeeper>(seams, config, live_config, metrics, open_files, unsynced_logs, hosted,
                                             std::move(directories), producers, cluster->isr_proposals(), contact,
                                             offline_news);
  co_return co_await keeper->recover_folders();
}

void Broker::Parts::make_transactions() {
  transactions = std::make_unique<TransactionCoordinators>(
      TransactionCoordinators::Parts{.seams = seams,
                                     .config = config,
                                     .hosted = hosted,
                                     .metadata = metadata,
                                     .metrics = metrics,
                                     .memory = &memory,
                                     .peers = cluster->peers(),
                                     .writer = marker_writer,
                                     .newest_connection = [this] { return newest_connection(); }});
  transaction_link = std::make_unique<TransactionLink>(
      TransactionLink::Parts{.seams = seams,
                             .self = config.node_id,
                             .metadata = metadata,
                             .peers = cluster->peers(),
                             .broker_epoch = [this] { return cluster->controller().broker_epoch(); },
                             .here = *transactions});
}

uint64_t Broker::Parts::newest_connection() {
  const std::scoped_lock lock(obey_mutex);
  return server ? server->newest_connection() : 0;
}

Task<Result<std::unique_ptr<CoordinationStore>>> Broker::Parts::open_session(const LogDirectory& first) {
  if (overrides.open_store) co_return co_await overrides.open_store();
  StoreOptions options = store_options(first);
  // After a power cut of everything, the service may take longer to start than this broker.
  const MonotonicTime deadline = seams.clock.now() + config.coordination_start_timeout;
  for (;;) {
    const MonotonicTime begun = seams.clock.now();
    options.connect_timeout = std::clamp<Duration>(deadline - begun, kShortestTry, kLongestTry);
    auto opened = co_await open_coordination_store(seams, options);
    const MonotonicTime now = seams.clock.now();
    if (opened || opened.error() != ErrorCode::unavailable || now >= deadline) co_return opened;
    if (options.cancelled.cancelled()) co_return failure(Status(ErrorCode::cancelled));
    log_warn("broker", "still waits for the coordination service, for {} s more at most: {}",
             std::chrono::ceil<std::chrono::seconds>(deadline - now).count(), opened.error().message());
    NARU_CO_TRY(co_await sleep_until(seams.scheduler, std::min(deadline, std::max(begun + kPauseBetweenTries, now)),
                                     options.cancelled));
  }
}

StoreOptions Broker::Parts::store_options(const LogDirectory& first) const {
  StoreOptions options{.address = config.coordination,
                       .session_timeout = config.coordination_session_timeout,
                       .cancelled = stop_source.token(),
                       .embedded = {.folder = fmt::format("{}/{}", first.path(), kMetadataFolder)}};
  // A data folder that belongs to a cluster has had metadata; if that is gone, an empty one would orphan every topic.
  if (!first.identity().cluster_id.is_zero()) options.embedded.expectation = StoreExpectation::must_exist;
  return options;
}

// An embedded store that could not write is opened once more, as a restart would: it recovers, and goes on if the disk
// does.
Broker::Overrides::OpenStore Broker::Parts::reopen_store(const LogDirectory& first) {
  if (overrides.open_store) return [this] { return overrides.open_store(); };
  StoreOptions options = store_options(first);
  options.embedded.expectation = StoreExpectation::must_exist;
  return [this, options = std::move(options)] {
    store_replaced = true;
    return open_coordination_store(seams, options);
  };
}

Task<Status> Broker::Parts::start_controller() {
  metadata.subscribe_promptly([this](MetadataImagePtr image) { return take_roles(std::move(image)); });
  metadata.subscribe([this](MetadataImagePtr image) { return follow_metadata(std::move(image)); });
  metadata.subscribe([this](const MetadataImagePtr&) { return tell_coordinators(); });
  NARU_CO_TRY(co_await controller->start({.id = config.node_id,
                                          .incarnation = seams.random.uuid(),
                                          .rack = config.rack,
                                          .listeners = std::move(registered_listeners),
                                          .clean_shutdown = folders.clean_shutdown,
                                          .folders = keeper->data_folders(),
                                          .cluster_id = folders.cluster_id,
                                          .offline = keeper->unusable()},
                                         stop_source.token()));
  NARU_CO_TRY(co_await cluster->join(stop_source.token()));
  co_await metadata.take_effect();  // the logs are open
  NARU_CO_TRY(keeper->start_problem());
  co_await keeper->begin_journals();
  NARU_CO_TRY(co_await keeper->bind_cluster(metadata.current()->cluster().cluster_id));
  keeper->start_noting();
  co_return Status();
}

// What an election is about: waits for no disk.
Task<void> Broker::Parts::take_roles(MetadataImagePtr image) {
  if (live_config.follow(*image)) obey_config();
  co_await keeper->take_roles(image, cluster->may_take_roles(*image));
  role_image.store(image);
  cluster->follow();
}

Task<void> Broker::Parts::tell_coordinators() {
  const auto turn = co_await coordinator_turns.enter_always();
  co_await groups.follow(role_image.load());
  co_await transactions->follow(role_image.load());
}

Task<void> Broker::Parts::follow_metadata(MetadataImagePtr image) {
  std::vector<Uuid> deleted = co_await keeper->follow(std::move(image));
  cluster->look_again_at(keeper->take_reopened());
  retry.set_wanted(keeper->wants_another_try());
  // Of partitions that were opened, fetchers and coordinators do not know yet.
  cluster->follow();
  co_await tell_coordinators();
  const std::scoped_lock lock(background_mutex);
  // Whoever waits for the change must not wait for the controller.
  if (!deleted.empty() && !stopping) background.spawn(confirm_deletions(std::move(deleted)));
}

// What is not looked up at every use is told here.
void Broker::Parts::obey_config() {
  const std::scoped_lock lock(obey_mutex);
  const auto current = live_config.current();
  if (std::exchange(obeyed_log_level, current->log_level) != current->log_level) set_log_level(current->log_level);
  if (dispatcher) dispatcher->set_slow_request(current->slow_request);
  if (server) server->set_limits(server_limits(*current));
  if (maintenance) maintenance->obey_config();
  if (verifier) verifier->obey_config();
  seams.scheduler.set_blocking_limit(static_cast<size_t>(current->num_io_threads));
}

void Broker::Parts::start_maintenance() {
  const std::scoped_lock lock(obey_mutex);
  maintenance = std::make_unique<LogMaintenance>(seams, config, live_config, hosted, open_files, metrics);
  maintenance->when_damaged([this](const LogId& id) { verifier->suspect(id); });
  maintenance->start();
  verifier->start();
}

Task<void> Broker::Parts::confirm_deletions(std::vector<Uuid> topics) {
  co_await to_loop(seams.scheduler);  // out of the lock
  const size_t count = topics.size();
  const Status confirmed = co_await cluster->controller().confirm_deletions(std::move(topics));
  if (confirmed.ok()) co_return;
  log_warn("broker", "the deletion of {} topics is confirmed after the next start: {}", count, confirmed.to_string());
}

Status Broker::Parts::open_doors() {
  services.emplace(BrokerServices{.config = config,
                                  .live_config = live_config,
                                  .clock = seams.clock,
                                  .random = seams.random,
                                  .scheduler = seams.scheduler,
                                  .files = seams.files,
                                  .partitions = hosted,
                                  .authorizer = *authorizer,
                                  .quotas = *quotas,
                                  .metadata = metadata,
                                  .controller = *controller,
                                  .controller_link = cluster->controller(),
                                  .producer_ids = producer_ids,
                                  .keeper = *keeper,
                                  .memory = memory,
                                  .fetch_sessions = fetch_sessions,
                                  .groups = groups,
                                  .transactions = *transactions,
                                  .transaction_link = *transaction_link,
                                  .marker_writer = marker_writer,
                                  .unsynced_logs = unsynced_logs,
                                  .contact = contact,
                                  .late_work = late_work,
                                  .reads_sent_nearer = metrics.counter(
                                      "naru_fetch_preferred_replica_total",
                                      "Partitions of fetches whose consumers were sent to a replica in their rack"),
                                  .files_per_fetch = shares.files_per_fetch,
                                  .file_pins = file_pins,
                                  .watcher_ids = watcher_ids});
  {
    const std::scoped_lock lock(obey_mutex);
    dispatcher = std::make_unique<RequestDispatcher>(*services, request_metrics, connection_settings(config, shares));
    server = std::make_unique<ConnectionServer>(seams, memory, small_requests, metrics, server_limits(config));
  }
  obey_config();
  server->hold_back();
  connections_gauge = metrics.computed_gauge("naru_connections", "Open client connections", {},
                                             [this] { return static_cast<double>(server->open_connections()); });
  for (const ListenerConfig& listener : config.listeners) {
    NARU_TRY(open_listener({listener.name, listener.bind, purpose_of(listener, config)}, *dispatcher));
  }
  for (ExtraListener& extra : overrides.extra_listeners) {
    extra_doors.push_back(extra.make_door(*services));
    NARU_TRY(open_listener(extra.listener, *extra_doors.back()));
  }
  return {};
}

Status Broker::Parts::open_listener(const ListenerOptions& listener, Door& door) {
  auto bound = server->listen(listener, door);
  if (!bound) {
    const bool taken = bound.error() == ErrorCode::already_exists;
    return error(bound.error().code(), "cannot listen on {}: {}; {}--kafka HOST:PORT chooses another address",
                 listener.address.to_string(), bound.error().message(), taken ? "is another broker running? " : "");
  }
  open_listeners.push_back({listener.name, *bound});
  return {};
}

std::optional<std::string> Broker::unhealthy_reason() const {
  const size_t offline = parts_->hosted.offline().size();
  if (offline > 0) return fmt::format("{} partitions are offline; the log says why", offline);
  const size_t damaged = parts_->verifier ? parts_->verifier->damaged().size() : 0;
  if (damaged > 0) return fmt::format("{} partitions are damaged on this broker's disks; the log says where", damaged);
  return std::nullopt;
}

// Whoever is parked in a group or behind a transaction, or waits for a coordinator elsewhere, is answered, and not
// waited for.
Task<void> Broker::Parts::stop_coordinators() {
  if (transactions) co_await transactions->stop();
  if (transaction_link) co_await transaction_link->stop();
  co_await groups.stop();
}

// A handler that goes on without its client ends with what it waits for: other brokers now, partitions and the
// controller's store later.
Task<void> Broker::Parts::stop_requests(StopPhases& phases) {
  if (!server) co_return;
  co_await to_loop(seams.scheduler);
  // It keeps to the limit itself, by cutting connections.
  co_await phases.run_to_the_end("the connections", server->stop(seams.clock.now() + stop_limits::kConnections));
  co_await cluster->peers().close(PeerUse::requests);
  co_await phases.run("requests without a client", stop_limits::kRequests, end_requests());
}

Task<void> Broker::Parts::end_requests() {
  co_await dispatcher->drain();
  co_await late_work.join();
}

// Those who publish metadata first: whoever follows it may begin something in the background.
Task<void> Broker::Parts::stop_cluster() {
  if (cluster) co_await cluster->stop();
  if (transactions) co_await transactions->stop_sending();
}

// What opens, makes, deletes and compacts logs.
Task<void> Broker::Parts::stop_partition_work() {
  {
    const std::scoped_lock lock(background_mutex);
    stopping = true;
  }
  co_await retry.stop();
  co_await metadata.stop();
  if (maintenance) co_await maintenance->stop();
  if (verifier) co_await verifier->stop();
}

Task<void> Broker::Parts::close_logs(Status& closed) {
  closed = co_await keeper->close();
}

Task<void> Broker::Parts::close_store(Status& closed) {
  const Status store_closed = co_await store->close();
  if (closed.ok() && !store_replaced) closed = store_closed;
}

Task<Status> Broker::stop() {
  Parts& parts = *parts_;
  StopPhases phases(parts.seams);
  parts.connections_gauge = GaugeCallback();
  parts.stop_source.cancel();
  if (parts.server) co_await phases.run("the hand-over", stop_limits::kHandOver, parts.cluster->hand_over());
  co_await phases.run("the coordinators", stop_limits::kCoordinators, parts.stop_coordinators());
  co_await parts.stop_requests(phases);
  co_await phases.run("what other brokers were asked", stop_limits::kCluster, parts.stop_cluster());
  if (parts.controller) co_await phases.run("the controller", stop_limits::kController, parts.controller->stop());
  co_await phases.run_to_the_end("what is being done with partitions", parts.stop_partition_work());
  Status closed;
  if (parts.keeper) co_await phases.run_to_the_end("the logs", parts.close_logs(closed));
  if (parts.store) co_await phases.run("the store", stop_limits::kStore, parts.close_store(closed));
  // What was left behind has nothing to wait for any more.
  co_await parts.background.join();
  co_await phases.join();
  co_await parts.marker_writer.stop();  // handlers were its callers
  co_return closed;
}

}  // namespace naru
