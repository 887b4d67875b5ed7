#include "configuration/reference.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "configuration/broker_config.h"
#include "configuration/config_definition.h"

namespace naru {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

This page is generated from the tables in `src/configuration/`; `./dev docs` writes it anew, and a test compares the two.

A broker needs no configuration. What is set comes from, the weakest first:

1. a properties file (`naru server --config FILE`): `key=value` lines, comments start with `#`;
2. environment variables: `NARU_` and the key in upper case with `_` for `.`, so `NARU_NUM_PARTITIONS`; the prefix of our own
   keys is not doubled: `naru.log.level` is `NARU_LOG_LEVEL`;
3. flags: `--set key=value`.

A key that does not exist, or a value that is not allowed, stops the start with a sentence that says where it came from.
Keys have Kafka's names where they mean what Kafka means; ours start with `naru.`.

Column "effect": **restart**, read when the broker starts; **at once**, obeyed as soon as it is changed; **none**, checked, stored and
shown because clients and tools set it, but it changes nothing, for the reason that is given; **refused**, only the default is accepted,
which is what holds. Broker keys whose effect is "at once" can also be set while the broker runs, for one broker or for all
(`kafka-configs --entity-type brokers`); that wins over the file, the environment and the flags. So can the other keys that Kafka can
change at run time, but to no effect. A line in the log names each key that is set without effect, and why.

Where a key is not set, DescribeConfigs shows the value that holds instead. [The last section](#every-key-of-apache-kafka-43) lists every
key that Apache Kafka 4.3 has.

)";

constexpr std::string_view kTopicIntroduction = R"(
## Topic keys

Set when a topic is created or by altering its configuration. A topic that does not set a key follows the broker key beside it;
where there are several, the first one that is set wins.

| key | values | default | follows | effect | meaning |
| --- | --- | --- | --- | --- | --- |
)";

constexpr std::string_view kGroupIntroduction = R"(
## Group keys

Set by altering the configuration of a group, which need not exist yet.

| key | values | default | effect | meaning |
| --- | --- | --- | --- | --- |
)";

constexpr std::string_view kKafkaIntroduction = R"(
## Every key of Apache Kafka 4.3

What becomes of each key that Apache Kafka 4.3 lists for brokers, topics, groups and client metrics. A test compares this list with
Kafka's own ([kafka_config_keys.tsv](../src/configuration/kafka_config_keys.tsv)). Keys beginning with `listener.name.` are refused: there
are no settings for one listener. "Change" says where Kafka allows a change while the broker runs: for one broker (per-broker), also for
all (cluster-wide), or not at all (read-only); Naru does the same, but for the keys under "differences" below.

| key | of | change | here |
| --- | --- | --- | --- |
)";

constexpr std::string_view kDifferences = R"(
Differences:

- `listeners`, `listener.security.protocol.map` and `producer.id.expiration.ms` are read-only: they are read when the broker starts, and
  accepting a change would pretend that clients can connect elsewhere, or that duplicates are recognised for longer.
- `num.network.threads` can be set at run time, and is stored only: the number of event loops is that of the file, the environment or the
  flags, also after a restart. DescribeConfigs shows the number that runs, and what is stored among the synonyms.
- A subscription to client metrics matches clients by expressions in RE2's syntax. Those that only Java accepts (look-around, back
  references, possessive quantifiers) are refused with `INVALID_CONFIG`, and so are more than 16 patterns.
- Keys of plugins, which Kafka passes on unseen, are unknown here and refused.
)";

std::string code_or(const std::optional<std::string_view>& text, std::string_view absent) {
  if (!text) return std::string(absent);
  return text->empty() ? "empty" : fmt::format("`{}`", *text);
}

std::string_view effect_word(ConfigEffect effect) {
  switch (effect) {
    case ConfigEffect::at_once:
      return "at once";
    case ConfigEffect::at_restart:
      return "restart";
    case ConfigEffect::stored_only:
      return "none";
    case ConfigEffect::refused:
      return "refused";
  }
  return {};
}

std::string verdict_on(const ConfigDefinition& definition) {
  switch (definition.effect) {
    case ConfigEffect::at_once:
      return "works, at once";
    case ConfigEffect::at_restart:
      return "works, at a restart";
    case ConfigEffect::stored_only:
      return fmt::format("accepted without effect: {}", definition.help);
    case ConfigEffect::refused:
      return fmt::format(
          "refused{}: {}",
          definition.default_text ? fmt::format(" but for {}", code_or(definition.default_text, "")) : "",
          definition.help);
  }
  return {};
}

std::string_view mode_word(const ConfigDefinition& definition) {
  if (definition.scope != ConfigScope::broker) return "";
  switch (definition.mode) {
    case ConfigMode::read_only:
      return "read-only";
    case ConfigMode::per_broker:
      return "per-broker";
    case ConfigMode::cluster_wide:
      return "cluster-wide";
  }
  return {};
}

// Kafka has a key for each of the two names.
void render_kafka_rows(std::string& page, std::span<const ConfigDefinition> definitions, std::string_view of) {
  std::map<std::string_view, const ConfigDefinition*> rows;
  for (const ConfigDefinition& definition : definitions) {
    if (!definition.is_kafkas) continue;
    rows.emplace(definition.name, &definition);
    if (!definition.alias.empty()) rows.emplace(definition.alias, &definition);
  }
  for (const auto& [name, definition] : rows) {
    fmt::format_to(std::back_inserter(page), "| `{}` | {} | {} | {} |\n", name, of, mode_word(*definition),
                   verdict_on(*definition));
  }
}

// Those of which there is more to say than that they change nothing.
bool has_meaning(const ConfigDefinition& definition) {
  return definition.effect == ConfigEffect::at_once || definition.effect == ConfigEffect::at_restart;
}

bool gives_topic_default(const ConfigDefinition& definition) {
  return std::ranges::any_of(topic_config_definitions(), [&](const ConfigDefinition& topic) {
    return std::ranges::any_of(topic.synonyms.view(),
                               [&](const ConfigSynonym& synonym) { return synonym.broker_key == definition.name; });
  });
}

void render_broker_row(std::string& page, const ConfigDefinition& definition) {
  const std::string alias = definition.alias.empty() ? "" : fmt::format(", also `{}`", definition.alias);
  fmt::format_to(std::back_inserter(page), "| `{}`{} | {} | {} | {} | {} |\n", definition.name, alias,
                 describe_values(definition), code_or(definition.default_text, "not set"),
                 effect_word(definition.effect), definition.help);
}

void render_default_row(std::string& page, const ConfigDefinition& topic, const ConfigSynonym& synonym) {
  const ConfigDefinition& broker = *find_broker_config(synonym.broker_key);
  fmt::format_to(std::back_inserter(page), "| `{}` | {} | {} | {} | `{}` |\n", broker.name, describe_values(broker),
                 code_or(broker.default_text, "not set"), effect_word(broker.effect), topic.name);
}

void render_topic_row(std::string& page, const ConfigDefinition& topic) {
  std::vector<std::string> follows;
  for (const ConfigSynonym& synonym : topic.synonyms.view()) follows.push_back(fmt::format("`{}`", synonym.broker_key));
  fmt::format_to(std::back_inserter(page), "| `{}` | {} | {} | {} | {} | {} |\n", topic.name, describe_values(topic),
                 code_or(topic.default_text, "not set"), fmt::join(follows, ", "), effect_word(topic.effect),
                 topic.help);
}

}  // namespace

std::string render_reference() {
  std::string page(kIntroduction);
  page += "## Broker keys\n\n| key | values | default | effect | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const ConfigDefinition& definition : broker_config_definitions()) {
    if (has_meaning(definition) && !gives_topic_default(definition)) render_broker_row(page, definition);
  }
  page += "\n### Broker keys that are defaults for topics\n\n";
  page += "| key | values | default | effect | for topic key |\n| --- | --- | --- | --- | --- |\n";
  for (const ConfigDefinition& topic : topic_config_definitions()) {
    for (const ConfigSynonym& synonym : topic.synonyms.view()) render_default_row(page, topic, synonym);
  }
  page += kTopicIntroduction;
  for (const ConfigDefinition& topic : topic_config_definitions()) render_topic_row(page, topic);
  page += kGroupIntroduction;
  for (const ConfigDefinition& group : group_config_definitions()) render_broker_row(page, group);
  page += kKafkaIntroduction;
  render_kafka_rows(page, broker_config_definitions(), "brokers");
  render_kafka_rows(page, topic_config_definitions(), "topics");
  render_kafka_rows(page, group_config_definitions(), "groups");
  render_kafka_rows(page, client_metrics_config_definitions(), "client metrics");
  page += kDifferences;
  return page;
}

}  // namespace naru
