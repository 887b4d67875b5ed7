#include "configuration/reference.h"

#include <algorithm>
#include <iterator>

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

Column "effect": **restart**, read when the broker starts; **at once**, obeyed as soon as it is changed; **none yet**, checked,
stored and shown because clients and tools set it, but without effect in this version. Broker keys whose effect is not "restart" can
also be set while the broker runs, for one broker or for all (`kafka-configs --entity-type brokers`); that wins over the file, the
environment and the flags.

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
      return "none yet";
  }
  return {};
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
    if (!gives_topic_default(definition)) render_broker_row(page, definition);
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
  return page;
}

}  // namespace naru
