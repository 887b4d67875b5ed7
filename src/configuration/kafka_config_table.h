// The broker keys that Kafka 4.3 has and that change nothing here: accepted without effect, or refused. What the others
// are for stands in broker_config_table.cc, which puts these behind its own.
//
// Accepted is what only tunes a part that Naru does without or sizes by itself. Refused is what promises something that
// would not be kept: security, limits, policies, another place of the metadata. An exception are the throttles of
// replication and of moves between folders, which tools set and remove. Of a refused key the default is accepted,
// because it says what holds here.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "configuration/config_definition.h"
#include "configuration/topic_config_table.h"
#include "configuration/value_checks.h"

namespace naru::detail {

inline constexpr std::array<std::string_view, 2> kRoles{"broker", "controller"};

// What a row may say besides its reason, name, type and default. The numbers are the bounds that Kafka has.
struct KafkaConfigExtras {
  ConfigMode mode = ConfigMode::read_only;
  int64_t minimum = std::numeric_limits<int64_t>::min();
  int64_t maximum = std::numeric_limits<int64_t>::max();
  std::span<const std::string_view> allowed;
  Status (*check)(std::string_view) = nullptr;
  bool shown_if_set = false;
};

constexpr ConfigDefinition kafka_config(ConfigEffect effect, std::string_view reason, std::string_view name,
                                        ConfigType type, std::optional<std::string_view> default_text,
                                        const KafkaConfigExtras& extras) {
  return {.name = name,
          .type = type,
          .default_text = default_text,
          .effect = effect,
          .help = reason,
          .minimum = extras.minimum,
          .maximum = extras.maximum,
          .allowed = extras.allowed,
          .check = extras.check,
          .mode = extras.mode,
          .shown_if_set = extras.shown_if_set};
}
constexpr ConfigDefinition idle(std::string_view reason, std::string_view name, ConfigType type,
                                std::optional<std::string_view> default_text, const KafkaConfigExtras& extras = {}) {
  return kafka_config(ConfigEffect::stored_only, reason, name, type, default_text, extras);
}
constexpr ConfigDefinition refuse(std::string_view reason, std::string_view name, ConfigType type,
                                  std::optional<std::string_view> default_text, const KafkaConfigExtras& extras = {}) {
  return kafka_config(ConfigEffect::refused, reason, name, type, default_text, extras);
}

constexpr auto kafka_rows() {
  using enum ConfigType;
  using enum ConfigMode;
  constexpr std::optional<std::string_view> kUnset;
  constexpr std::string_view kNoTls =
      "There is no TLS yet: listeners are PLAINTEXT only, and this would pretend that they are protected.";
  constexpr std::string_view kNoSasl =
      "There is no authentication yet: every client may connect, and this would pretend that it has to prove who it "
      "is.";
  constexpr std::string_view kNoAuthorizer =
      "There is no authorization yet: every client may do everything, and this would pretend otherwise.";
  constexpr std::string_view kNoTokens = "There are no delegation tokens, because there is no authentication yet.";
  constexpr std::string_view kNoPolicies = "Java classes cannot be loaded, so the policy would not be kept.";
  constexpr std::string_view kNoProviders = "Values are taken as they are written: ${...} is not looked up.";
  constexpr std::string_view kNoCreationRate =
      "The rate of new connections is not limited; max.connections and max.connections.per.ip limit their number.";
  constexpr std::string_view kNoRemoteStorage = "There is no remote storage yet, so it cannot be switched on.";
  constexpr std::string_view kNoCordon = "New partitions go to any data folder: one cannot be taken out yet.";
  constexpr std::string_view kNoTwoPhaseCommit =
      "Every transaction has a timeout: transactions of an external coordinator are not supported.";
  constexpr std::string_view kNoQuorum =
      "Metadata is not kept by a quorum of controllers: naru.coordination names the coordination service that brokers "
      "of a cluster share.";
  constexpr std::string_view kProtocols =
      "Both protocols of groups are always offered, and there are no share groups and no streams groups yet.";
  constexpr std::string_view kUnstable = "There are no unstable versions of APIs or features.";
  constexpr std::string_view kNoController =
      "Every broker can be elected controller, and has no listener of its own for that.";
  constexpr std::string_view kNoRaft =
      "Metadata is kept where naru.coordination says, and not in a log of controllers.";
  constexpr std::string_view kSessions =
      "The session of a broker is one of the coordination service: see naru.coordination.session.timeout.ms and "
      "naru.coordination.start.timeout.ms.";
  constexpr std::string_view kStops =
      "A broker that stops always hands its partitions over first; naru.shutdown.timeout.ms bounds the time.";
  constexpr std::string_view kListeners = "All listeners are opened together, when the broker is ready.";
  constexpr std::string_view kNoQuotas = "There are no quotas yet, so nothing is throttled.";
  constexpr std::string_view kNoThrottles =
      "Replication is not throttled yet; the key is accepted because kafka-reassign-partitions sets and removes it.";
  constexpr std::string_view kThreads =
      "Work is divided among num.network.threads event loops and num.io.threads workers; there are no threads of this "
      "kind.";
  constexpr std::string_view kNoMoves = "Replicas cannot be moved between data folders yet.";
  constexpr std::string_view kPurgatory =
      "Requests that wait are woken by what they wait for and leave nothing that would have to be purged.";
  constexpr std::string_view kQueues =
      "Requests are not queued by number: naru.memory.budget.bytes bounds what they may use together.";
  constexpr std::string_view kSocketBuffers =
      "The operating system sizes the buffers of connections; the backlog of a listener is fixed.";
  constexpr std::string_view kBrokerTimeouts = "Timeouts of requests between brokers are fixed.";
  constexpr std::string_view kNoFailedAuthentication = "No connection fails to authenticate, because none has to.";
  constexpr std::string_view kCheckpoints =
      "Logs and replicas write down what recovery needs when it changes, not at this interval.";
  constexpr std::string_view kCleanerBuffers = "Compaction reads and writes through buffers of a fixed size.";
  constexpr std::string_view kFolderFailure =
      "A broker whose data folders fail goes on with the others and tells the controller as soon as it can.";
  constexpr std::string_view kMetrics =
      "Metrics are served at naru.admin.listener, for a scraper; there are no reporters and no samples.";
  constexpr std::string_view kNoTelemetry = "Clients are not asked for their metrics.";
  constexpr std::string_view kRequestLimit = "DescribeTopicPartitions answers at most 2,000 partitions at a time.";
  constexpr std::string_view kRemote = "There is no remote storage yet.";
  constexpr std::string_view kNoShareGroups = "There are no share groups yet.";
  constexpr std::string_view kNoStreamsGroups = "There are no streams groups yet; Kafka Streams uses classic groups.";
  constexpr std::string_view kFixedRanges = "The ranges of the keys of groups are fixed.";
  constexpr std::string_view kAssignments = "Partitions of a group are assigned anew as soon as something changes.";
  constexpr std::string_view kCoordinators =
      "Coordinators write records as they come, in batches whose size follows from the load, and read their topics "
      "with buffers of a fixed size.";
  constexpr std::string_view kTransactions =
      "Each transaction has a timer of its own, and partitions verify each transaction that writes to them.";
  constexpr std::string_view kIntervals =
      "Expired producers are forgotten at the next append, unclean elections happen when they are needed, and the "
      "first look at retention is half a minute after the start.";

  return std::to_array<ConfigDefinition>({
      refuse(kNoTls, "ssl.allow.dn.changes", boolean, "false"),
      refuse(kNoTls, "ssl.allow.san.changes", boolean, "false"),
      refuse(kNoTls, "ssl.cipher.suites", list, "", {.mode = per_broker}),
      refuse(kNoTls, "ssl.client.auth", string, "none", {.mode = per_broker}),
      refuse(kNoTls, "ssl.enabled.protocols", list, "TLSv1.2,TLSv1.3", {.mode = per_broker}),
      refuse(kNoTls, "ssl.endpoint.identification.algorithm", string, "https", {.mode = per_broker}),
      refuse(kNoTls, "ssl.engine.factory.class", class_name, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.key.password", password, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.keymanager.algorithm", string, "SunX509", {.mode = per_broker}),
      refuse(kNoTls, "ssl.keystore.certificate.chain", password, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.keystore.key", password, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.keystore.location", string, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.keystore.password", password, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.keystore.type", string, "JKS", {.mode = per_broker}),
      refuse(kNoTls, "ssl.principal.mapping.rules", string, "DEFAULT"),
      refuse(kNoTls, "ssl.protocol", string, "TLSv1.3", {.mode = per_broker}),
      refuse(kNoTls, "ssl.provider", string, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.secure.random.implementation", string, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.trustmanager.algorithm", string, "PKIX", {.mode = per_broker}),
      refuse(kNoTls, "ssl.truststore.certificates", password, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.truststore.location", string, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.truststore.password", password, kUnset, {.mode = per_broker}),
      refuse(kNoTls, "ssl.truststore.type", string, "JKS", {.mode = per_broker}),

      refuse(kNoSasl, "connections.max.reauth.ms", int64, "0"),
      refuse(kNoSasl, "principal.builder.class", class_name,
             "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.client.callback.handler.class", class_name, kUnset),
      refuse(kNoSasl, "sasl.enabled.mechanisms", list, "GSSAPI", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.jaas.config", password, kUnset, {.mode = per_broker}),
      refuse(kNoSasl, "sasl.kerberos.kinit.cmd", string, "/usr/bin/kinit", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.kerberos.min.time.before.relogin", int64, "60000", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.kerberos.principal.to.local.rules", list, "DEFAULT", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.kerberos.service.name", string, kUnset, {.mode = per_broker}),
      refuse(kNoSasl, "sasl.kerberos.ticket.renew.jitter", floating, "0.05", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.kerberos.ticket.renew.window.factor", floating, "0.8", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.login.callback.handler.class", class_name, kUnset),
      refuse(kNoSasl, "sasl.login.class", class_name, kUnset),
      refuse(kNoSasl, "sasl.login.connect.timeout.ms", int32, kUnset),
      refuse(kNoSasl, "sasl.login.read.timeout.ms", int32, kUnset),
      refuse(kNoSasl, "sasl.login.refresh.buffer.seconds", int16, "300", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.login.refresh.min.period.seconds", int16, "60", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.login.refresh.window.factor", floating, "0.8", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.login.refresh.window.jitter", floating, "0.05", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.login.retry.backoff.max.ms", int64, "10000"),
      refuse(kNoSasl, "sasl.login.retry.backoff.ms", int64, "100"),
      refuse(kNoSasl, "sasl.mechanism.controller.protocol", string, "GSSAPI"),
      refuse(kNoSasl, "sasl.mechanism.inter.broker.protocol", string, "GSSAPI", {.mode = per_broker}),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.algorithm", string, "RS256"),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.claim.aud", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.claim.exp.seconds", int32, "300"),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.claim.iss", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.claim.jti.include", boolean, "false"),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.claim.nbf.seconds", int32, "60"),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.claim.sub", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.file", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.private.key.file", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.private.key.passphrase", password, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.assertion.template.file", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.client.credentials.client.id", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.client.credentials.client.secret", password, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.clock.skew.seconds", int32, "30"),
      refuse(kNoSasl, "sasl.oauthbearer.expected.audience", list, ""),
      refuse(kNoSasl, "sasl.oauthbearer.expected.issuer", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.jwks.endpoint.refresh.ms", int64, "3600000"),
      refuse(kNoSasl, "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", int64, "10000"),
      refuse(kNoSasl, "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", int64, "100"),
      refuse(kNoSasl, "sasl.oauthbearer.jwks.endpoint.url", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.jwt.retriever.class", class_name,
             "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
      refuse(kNoSasl, "sasl.oauthbearer.jwt.validator.class", class_name,
             "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
      refuse(kNoSasl, "sasl.oauthbearer.scope", string, kUnset),
      refuse(kNoSasl, "sasl.oauthbearer.scope.claim.name", string, "scope"),
      refuse(kNoSasl, "sasl.oauthbearer.sub.claim.name", string, "sub"),
      refuse(kNoSasl, "sasl.oauthbearer.token.endpoint.url", string, kUnset),
      refuse(kNoSasl, "sasl.server.callback.handler.class", class_name, kUnset),
      refuse(kNoSasl, "sasl.server.max.receive.size", int32, "524288"),
      refuse(kNoSasl, "security.inter.broker.protocol", string, "PLAINTEXT"),
      refuse(kNoSasl, "security.providers", string, kUnset),

      refuse(kNoAuthorizer, "authorizer.class.name", string, ""),

      refuse(kNoTokens, "delegation.token.expiry.check.interval.ms", int64, "3600000"),
      refuse(kNoTokens, "delegation.token.expiry.time.ms", int64, "86400000"),
      refuse(kNoTokens, "delegation.token.max.lifetime.ms", int64, "604800000"),
      refuse(kNoTokens, "delegation.token.secret.key", password, kUnset),

      refuse(kNoPolicies, "alter.config.policy.class.name", class_name, kUnset),
      refuse(kNoPolicies, "client.quota.callback.class", class_name, kUnset),
      refuse(kNoPolicies, "create.topic.policy.class.name", class_name, kUnset),

      refuse(kNoProviders, "config.providers", list, "", {.mode = cluster_wide}),

      refuse(kNoCreationRate, "max.connection.creation.rate", int32, "2147483647", {.mode = cluster_wide}),

      refuse(kNoRemoteStorage, "remote.log.storage.system.enable", boolean, "false"),

      refuse(kNoCordon, "cordoned.log.dirs", list, "", {.mode = per_broker}),

      refuse(kNoTwoPhaseCommit, "transaction.two.phase.commit.enable", boolean, "false"),

      refuse(kNoQuorum, "controller.quorum.bootstrap.servers", list, ""),
      refuse(kNoQuorum, "controller.quorum.voters", list, ""),

      refuse(kProtocols, "group.coordinator.rebalance.protocols", list, "classic,consumer"),

      refuse(kUnstable, "unstable.api.versions.enable", boolean, "false", {.shown_if_set = true}),
      refuse(kUnstable, "unstable.feature.versions.enable", boolean, "false", {.shown_if_set = true}),

      idle(kNoController, "controller.listener.names", list, ""),
      idle(kNoController, "process.roles", list, "broker,controller", {.allowed = kRoles, .check = check_roles}),

      idle(kNoRaft, "controller.performance.always.log.threshold.ms", int64, "2000",
           {.minimum = 0, .shown_if_set = true}),
      idle(kNoRaft, "controller.performance.sample.period.ms", int64, "60000", {.minimum = 100, .shown_if_set = true}),
      idle(kNoRaft, "controller.quorum.append.linger.ms", int32, "25", {.minimum = 0}),
      idle(kNoRaft, "controller.quorum.auto.join.enable", boolean, "false"),
      idle(kNoRaft, "controller.quorum.election.backoff.max.ms", int32, "1000", {.minimum = 0}),
      idle(kNoRaft, "controller.quorum.election.timeout.ms", int32, "1000", {.minimum = 0}),
      idle(kNoRaft, "controller.quorum.fetch.max.bytes", int32, "1048576", {.minimum = 1}),
      idle(kNoRaft, "controller.quorum.fetch.snapshot.max.bytes", int32, "1048576", {.minimum = 1}),
      idle(kNoRaft, "controller.quorum.fetch.timeout.ms", int32, "2000", {.minimum = 0}),
      idle(kNoRaft, "controller.quorum.request.timeout.ms", int32, "2000", {.minimum = 0}),
      idle(kNoRaft, "controller.quorum.retry.backoff.ms", int32, "20", {.minimum = 0}),
      idle(kNoRaft, "internal.metadata.delete.delay.millis", int64, "60000", {.shown_if_set = true}),
      idle(kNoRaft, "internal.metadata.log.segment.bytes", int32, kUnset, {.shown_if_set = true}),
      idle(kNoRaft, "internal.metadata.max.batch.size.in.bytes", int32, "8388608", {.shown_if_set = true}),
      idle(kNoRaft, "metadata.log.dir", string, kUnset),
      idle(kNoRaft, "metadata.log.max.record.bytes.between.snapshots", int64, "20971520", {.minimum = 1}),
      idle(kNoRaft, "metadata.log.max.snapshot.interval.ms", int64, "3600000", {.minimum = 0}),
      idle(kNoRaft, "metadata.log.segment.bytes", int32, "1073741824", {.minimum = 8388608}),
      idle(kNoRaft, "metadata.log.segment.ms", int64, "604800000"),
      idle(kNoRaft, "metadata.max.idle.interval.ms", int32, "500", {.minimum = 0}),
      idle(kNoRaft, "metadata.max.retention.bytes", int64, "104857600"),
      idle(kNoRaft, "metadata.max.retention.ms", int64, "604800000"),

      idle(kSessions, "broker.heartbeat.interval.ms", int32, "2000"),
      idle(kSessions, "broker.session.timeout.ms", int32, "9000"),
      idle(kSessions, "initial.broker.registration.timeout.ms", int32, "60000"),
      idle(kSessions, "server.max.startup.time.ms", int64, kMaxInt64Text, {.minimum = 0, .shown_if_set = true}),

      idle(kStops, "controlled.shutdown.enable", boolean, "true"),

      idle(kListeners, "early.start.listeners", list, kUnset),

      idle(kNoQuotas, "alter.log.dirs.replication.quota.window.num", int32, "11", {.minimum = 1}),
      idle(kNoQuotas, "alter.log.dirs.replication.quota.window.size.seconds", int32, "1", {.minimum = 1}),
      idle(kNoQuotas, "controller.quota.window.num", int32, "11", {.minimum = 1}),
      idle(kNoQuotas, "controller.quota.window.size.seconds", int32, "1", {.minimum = 1}),
      idle(kNoThrottles, "follower.replication.throttled.rate", int64, kMaxInt64Text,
           {.mode = cluster_wide, .minimum = 0, .shown_if_set = true}),
      idle(kNoThrottles, "leader.replication.throttled.rate", int64, kMaxInt64Text,
           {.mode = cluster_wide, .minimum = 0, .shown_if_set = true}),
      idle(kNoQuotas, "quota.window.num", int32, "11", {.minimum = 1}),
      idle(kNoQuotas, "quota.window.size.seconds", int32, "1", {.minimum = 1}),
      idle(kNoQuotas, "replication.quota.window.num", int32, "11", {.minimum = 1}),
      idle(kNoQuotas, "replication.quota.window.size.seconds", int32, "1", {.minimum = 1}),

      idle(kThreads, "background.threads", int32, "10", {.mode = cluster_wide, .minimum = 1}),
      idle(kThreads, "group.coordinator.background.threads", int32, "2", {.minimum = 1}),
      idle(kThreads, "group.coordinator.threads", int32, "4", {.minimum = 1}),
      idle(kThreads, "num.recovery.threads.per.data.dir", int32, "2", {.mode = cluster_wide, .minimum = 1}),
      idle(kThreads, "num.replica.fetchers", int32, "1", {.mode = cluster_wide, .minimum = 1}),

      idle(kNoMoves, "num.replica.alter.log.dirs.threads", int32, kUnset),
      idle(kNoMoves, "replica.alter.log.dirs.io.max.bytes.per.second", int64, kMaxInt64Text,
           {.mode = cluster_wide, .minimum = 0, .shown_if_set = true}),

      idle(kPurgatory, "delete.records.purgatory.purge.interval.requests", int32, "1"),
      idle(kPurgatory, "fetch.purgatory.purge.interval.requests", int32, "1000"),
      idle(kPurgatory, "producer.purgatory.purge.interval.requests", int32, "1000"),
      idle(kPurgatory, "share.fetch.purgatory.purge.interval.requests", int32, "1000"),

      idle(kQueues, "queued.max.request.bytes", int64, "-1"),
      idle(kQueues, "queued.max.requests", int32, "500", {.minimum = 1}),

      idle(kSocketBuffers, "replica.socket.receive.buffer.bytes", int32, "65536"),
      idle(kSocketBuffers, "socket.listen.backlog.size", int32, "50", {.minimum = 1}),
      idle(kSocketBuffers, "socket.receive.buffer.bytes", int32, "102400"),
      idle(kSocketBuffers, "socket.send.buffer.bytes", int32, "102400"),

      idle(kBrokerTimeouts, "add.partitions.to.txn.retry.backoff.max.ms", int32, "100", {.minimum = 0}),
      idle(kBrokerTimeouts, "add.partitions.to.txn.retry.backoff.ms", int32, "20", {.minimum = 1}),
      idle(kBrokerTimeouts, "controller.socket.timeout.ms", int32, "30000"),
      idle(kBrokerTimeouts, "offsets.commit.timeout.ms", int32, "5000", {.minimum = 1}),
      idle(kBrokerTimeouts, "replica.socket.timeout.ms", int32, "30000"),
      idle(kBrokerTimeouts, "request.timeout.ms", int32, "30000"),
      idle(kBrokerTimeouts, "socket.connection.setup.timeout.max.ms", int64, "30000"),
      idle(kBrokerTimeouts, "socket.connection.setup.timeout.ms", int64, "10000"),

      idle(kNoFailedAuthentication, "connection.failed.authentication.delay.ms", int32, "100", {.minimum = 0}),

      idle(kCheckpoints, "log.flush.offset.checkpoint.interval.ms", int32, "60000", {.minimum = 0}),
      idle(kCheckpoints, "log.flush.start.offset.checkpoint.interval.ms", int32, "60000", {.minimum = 0}),
      idle(kCheckpoints, "replica.high.watermark.checkpoint.interval.ms", int64, "5000"),

      idle(kCleanerBuffers, "log.cleaner.io.buffer.load.factor", floating, "0.9", {.mode = cluster_wide}),
      idle(kCleanerBuffers, "log.cleaner.io.buffer.size", int32, "524288", {.mode = cluster_wide, .minimum = 0}),

      idle(kFolderFailure, "log.dir.failure.timeout.ms", int64, "30000", {.minimum = 1}),

      idle(kMetrics, "kafka.metrics.polling.interval.secs", int32, "10", {.minimum = 1}),
      idle(kMetrics, "kafka.metrics.reporters", list, ""),
      idle(kMetrics, "metric.reporters", list, "org.apache.kafka.common.metrics.JmxReporter", {.mode = cluster_wide}),
      idle(kMetrics, "metrics.num.samples", int32, "2", {.minimum = 1}),
      idle(kMetrics, "metrics.recording.level", string, "INFO"),
      idle(kMetrics, "metrics.sample.window.ms", int64, "30000", {.minimum = 1}),

      idle(kNoTelemetry, "telemetry.max.bytes", int32, "1048576", {.minimum = 1}),

      idle(kRequestLimit, "max.request.partition.size.limit", int32, "2000", {.minimum = 1}),

      idle(kRemote, "follower.fetch.last.tiered.offset.enable", boolean, "false", {.mode = cluster_wide}),
      idle(kRemote, "remote.fetch.max.wait.ms", int32, "500", {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.list.offsets.request.timeout.ms", int64, "30000", {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.log.index.file.cache.total.size.bytes", int64, "1073741824",
           {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.log.index.file.cache.ttl.ms", int64, "900000", {.minimum = -1, .shown_if_set = true}),
      idle(kRemote, "remote.log.manager.copier.thread.pool.size", int32, "10", {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.log.manager.copy.max.bytes.per.second", int64, kMaxInt64Text,
           {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.log.manager.copy.quota.window.num", int32, "11", {.minimum = 1}),
      idle(kRemote, "remote.log.manager.copy.quota.window.size.seconds", int32, "1", {.minimum = 1}),
      idle(kRemote, "remote.log.manager.expiration.thread.pool.size", int32, "10",
           {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.log.manager.fetch.max.bytes.per.second", int64, kMaxInt64Text,
           {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.log.manager.fetch.quota.window.num", int32, "11", {.minimum = 1}),
      idle(kRemote, "remote.log.manager.fetch.quota.window.size.seconds", int32, "1", {.minimum = 1}),
      idle(kRemote, "remote.log.manager.follower.thread.pool.size", int32, "2", {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.log.manager.task.interval.ms", int64, "30000", {.minimum = 1}),
      idle(kRemote, "remote.log.manager.task.retry.backoff.max.ms", int64, "30000",
           {.minimum = 1, .shown_if_set = true}),
      idle(kRemote, "remote.log.manager.task.retry.backoff.ms", int64, "500", {.minimum = 1, .shown_if_set = true}),
      idle(kRemote, "remote.log.manager.task.retry.jitter", floating, "0.2", {.shown_if_set = true}),
      idle(kRemote, "remote.log.manager.thread.pool.size", int32, "2", {.minimum = 1}),
      idle(kRemote, "remote.log.metadata.custom.metadata.max.bytes", int32, "128", {.minimum = 0}),
      idle(kRemote, "remote.log.metadata.manager.class.name", string,
           "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"),
      idle(kRemote, "remote.log.metadata.manager.class.path", string, kUnset),
      idle(kRemote, "remote.log.metadata.manager.impl.prefix", string, "rlmm.config."),
      idle(kRemote, "remote.log.metadata.manager.listener.name", string, kUnset),
      idle(kRemote, "remote.log.reader.max.pending.tasks", int32, "100", {.minimum = 1}),
      idle(kRemote, "remote.log.reader.threads", int32, "10", {.mode = cluster_wide, .minimum = 1}),
      idle(kRemote, "remote.log.storage.manager.class.name", string, kUnset),
      idle(kRemote, "remote.log.storage.manager.class.path", string, kUnset),
      idle(kRemote, "remote.log.storage.manager.impl.prefix", string, "rsm.config."),

      idle(kNoShareGroups, "group.share.assignment.interval.ms", int32, "1000", {.mode = cluster_wide, .minimum = 0}),
      idle(kNoShareGroups, "group.share.assignors", list, "simple"),
      idle(kNoShareGroups, "group.share.delivery.count.limit", int32, "5", {.minimum = 2, .maximum = 10}),
      idle(kNoShareGroups, "group.share.heartbeat.interval.ms", int32, "5000", {.minimum = 1}),
      idle(kNoShareGroups, "group.share.initialize.retry.interval.ms", int32, "30000",
           {.minimum = 1, .shown_if_set = true}),
      idle(kNoShareGroups, "group.share.max.assignment.interval.ms", int32, "15000", {.minimum = 0}),
      idle(kNoShareGroups, "group.share.max.delivery.count.limit", int32, "10", {.minimum = 5, .maximum = 25}),
      idle(kNoShareGroups, "group.share.max.heartbeat.interval.ms", int32, "15000", {.minimum = 1}),
      idle(kNoShareGroups, "group.share.max.partition.max.record.locks", int32, "4000",
           {.minimum = 2000, .maximum = 10000}),
      idle(kNoShareGroups, "group.share.max.record.lock.duration.ms", int32, "60000",
           {.minimum = 30000, .maximum = 3600000}),
      idle(kNoShareGroups, "group.share.max.session.timeout.ms", int32, "60000", {.minimum = 1}),
      idle(kNoShareGroups, "group.share.max.share.sessions", int32, "2000", {.minimum = 1}),
      idle(kNoShareGroups, "group.share.max.size", int32, "200", {.minimum = 1, .maximum = 1000}),
      idle(kNoShareGroups, "group.share.min.assignment.interval.ms", int32, "0", {.minimum = 0}),
      idle(kNoShareGroups, "group.share.min.delivery.count.limit", int32, "2", {.minimum = 2, .maximum = 5}),
      idle(kNoShareGroups, "group.share.min.heartbeat.interval.ms", int32, "5000", {.minimum = 1}),
      idle(kNoShareGroups, "group.share.min.partition.max.record.locks", int32, "100",
           {.minimum = 100, .maximum = 2000}),
      idle(kNoShareGroups, "group.share.min.record.lock.duration.ms", int32, "15000",
           {.minimum = 1000, .maximum = 30000}),
      idle(kNoShareGroups, "group.share.min.session.timeout.ms", int32, "45000", {.minimum = 1}),
      idle(kNoShareGroups, "group.share.partition.max.record.locks", int32, "2000", {.minimum = 100, .maximum = 10000}),
      idle(kNoShareGroups, "group.share.persister.class.name", string,
           "org.apache.kafka.server.share.persister.DefaultStatePersister", {.shown_if_set = true}),
      idle(kNoShareGroups, "group.share.record.lock.duration.ms", int32, "30000",
           {.minimum = 1000, .maximum = 3600000}),
      idle(kNoShareGroups, "group.share.session.timeout.ms", int32, "45000", {.minimum = 1}),
      idle(kNoShareGroups, "share.coordinator.append.linger.ms", int32, "-1", {.minimum = -1}),
      idle(kNoShareGroups, "share.coordinator.cached.buffer.max.bytes", int32, "1048588",
           {.mode = cluster_wide, .minimum = 524288}),
      idle(kNoShareGroups, "share.coordinator.cold.partition.snapshot.interval.ms", int32, "300000",
           {.minimum = 1, .shown_if_set = true}),
      idle(kNoShareGroups, "share.coordinator.load.buffer.size", int32, "5242880", {.minimum = 1}),
      idle(kNoShareGroups, "share.coordinator.snapshot.update.records.per.snapshot", int32, "500",
           {.minimum = 0, .maximum = 500}),
      idle(kNoShareGroups, "share.coordinator.state.topic.compression.codec", int32, "0"),
      idle(kNoShareGroups, "share.coordinator.state.topic.min.isr", int16, "2", {.minimum = 1}),
      idle(kNoShareGroups, "share.coordinator.state.topic.num.partitions", int32, "50", {.minimum = 1}),
      idle(kNoShareGroups, "share.coordinator.state.topic.prune.interval.ms", int32, "300000",
           {.minimum = 1, .shown_if_set = true}),
      idle(kNoShareGroups, "share.coordinator.state.topic.replication.factor", int16, "3", {.minimum = 1}),
      idle(kNoShareGroups, "share.coordinator.state.topic.segment.bytes", int32, "104857600", {.minimum = 1}),
      idle(kNoShareGroups, "share.coordinator.threads", int32, "1", {.minimum = 1}),
      idle(kNoShareGroups, "share.coordinator.write.timeout.ms", int32, "5000", {.minimum = 1}),

      idle(kNoStreamsGroups, "group.streams.assignment.interval.ms", int32, "1000",
           {.mode = cluster_wide, .minimum = 0}),
      idle(kNoStreamsGroups, "group.streams.heartbeat.interval.ms", int32, "5000", {.minimum = 1}),
      idle(kNoStreamsGroups, "group.streams.initial.rebalance.delay.ms", int32, "3000", {.minimum = 0}),
      idle(kNoStreamsGroups, "group.streams.max.assignment.interval.ms", int32, "15000", {.minimum = 0}),
      idle(kNoStreamsGroups, "group.streams.max.heartbeat.interval.ms", int32, "15000", {.minimum = 1}),
      idle(kNoStreamsGroups, "group.streams.max.session.timeout.ms", int32, "60000", {.minimum = 1}),
      idle(kNoStreamsGroups, "group.streams.max.size", int32, "2147483647", {.minimum = 1}),
      idle(kNoStreamsGroups, "group.streams.max.standby.replicas", int32, "2", {.minimum = 0}),
      idle(kNoStreamsGroups, "group.streams.min.assignment.interval.ms", int32, "0", {.minimum = 0}),
      idle(kNoStreamsGroups, "group.streams.min.heartbeat.interval.ms", int32, "5000", {.minimum = 1}),
      idle(kNoStreamsGroups, "group.streams.min.session.timeout.ms", int32, "45000", {.minimum = 1}),
      idle(kNoStreamsGroups, "group.streams.num.standby.replicas", int32, "0", {.minimum = 0}),
      idle(kNoStreamsGroups, "group.streams.session.timeout.ms", int32, "45000", {.minimum = 1}),

      idle(kFixedRanges, "group.consumer.max.heartbeat.interval.ms", int32, "15000", {.minimum = 1}),
      idle(kFixedRanges, "group.consumer.max.session.timeout.ms", int32, "60000", {.minimum = 1}),
      idle(kFixedRanges, "group.consumer.min.heartbeat.interval.ms", int32, "5000", {.minimum = 1}),
      idle(kFixedRanges, "group.consumer.min.session.timeout.ms", int32, "45000", {.minimum = 1}),

      idle(kAssignments, "group.consumer.assignment.interval.ms", int32, "1000", {.mode = cluster_wide, .minimum = 0}),
      idle(kAssignments, "group.consumer.max.assignment.interval.ms", int32, "15000", {.minimum = 0}),
      idle(kAssignments, "group.consumer.min.assignment.interval.ms", int32, "0", {.minimum = 0}),
      idle(kAssignments, "group.consumer.regex.refresh.interval.ms", int32, "600000",
           {.minimum = 10000, .shown_if_set = true}),

      idle(kCoordinators, "group.coordinator.append.linger.ms", int32, "-1", {.minimum = -1}),
      idle(kCoordinators, "group.coordinator.cached.buffer.max.bytes", int32, "1048588",
           {.mode = cluster_wide, .minimum = 524288}),
      idle(kCoordinators, "offsets.load.buffer.size", int32, "5242880", {.minimum = 1}),
      idle(kCoordinators, "offsets.topic.compression.codec", int32, "0"),
      idle(kCoordinators, "transaction.state.log.load.buffer.size", int32, "5242880", {.minimum = 1}),

      idle(kTransactions, "transaction.abort.timed.out.transaction.cleanup.interval.ms", int32, "10000",
           {.minimum = 1}),
      idle(kTransactions, "transaction.partition.verification.enable", boolean, "true", {.mode = cluster_wide}),

      idle(kIntervals, "log.initial.task.delay.ms", int64, "30000", {.minimum = 0, .shown_if_set = true}),
      idle(kIntervals, "producer.id.expiration.check.interval.ms", int32, "600000",
           {.minimum = 1, .shown_if_set = true}),
      idle(kIntervals, "unclean.leader.election.interval.ms", int64, "300000", {.minimum = 1, .shown_if_set = true}),
  });
}

inline constexpr auto kKafkaConfigs = kafka_rows();

}  // namespace naru::detail
