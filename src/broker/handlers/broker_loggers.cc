#include "broker/handlers/broker_loggers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "broker/handlers/config_resources.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr std::string_view kRoot = "root";
constexpr size_t kShownNameBytes = 100;

struct LevelWord {
  LogLevel level;
  std::string_view word;
};
// Those of Kafka's LogLevelConfig.
constexpr std::array kWords{LevelWord{LogLevel::trace, "TRACE"}, LevelWord{LogLevel::debug, "DEBUG"},
                            LevelWord{LogLevel::info, "INFO"},   LevelWord{LogLevel::warn, "WARN"},
                            LevelWord{LogLevel::error, "ERROR"}, LevelWord{LogLevel::fatal, "FATAL"}};

std::string_view word_for(LogLevel level) {
  const auto* const found = std::ranges::find(kWords, level, &LevelWord::level);
  return found != kWords.end() ? found->word : "OFF";
}

// nullopt as a level: back to that of the root. As a component: the root.
struct LoggerChange {
  std::optional<LogComponent> component;
  std::optional<LogLevel> level;
};

Result<LoggerChange> parse(const ConfigChange& wanted) {
  LoggerChange change{.component = LogComponent::find(wanted.name)};
  const std::string_view name = std::string_view(wanted.name).substr(0, kShownNameBytes);
  if (!change.component && wanted.name != kRoot) {
    return failure(ErrorCode::invalid_config, "there is no logger {}", name);
  }
  switch (wanted.operation) {
    case ConfigOperation::set:
      break;
    case ConfigOperation::remove:
      if (!change.component) return failure(ErrorCode::invalid_request, "the level of the root cannot be removed");
      return change;
    default:
      return failure(ErrorCode::invalid_request, "the level of a logger is no list: set it or remove it");
  }
  const auto* const found = std::ranges::find(kWords, wanted.value.value_or(""), &LevelWord::word);
  if (found == kWords.end()) {
    return failure(ErrorCode::invalid_config,
                   "the level of {} must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL, not '{}'", name,
                   wanted.value.value_or("").substr(0, kShownNameBytes));
  }
  change.level = found->level;
  return change;
}

void apply(const LoggerChange& change) {
  if (change.component) {
    set_component_log_level(*change.component, change.level);
  } else {
    set_log_level(*change.level);
  }
}

}  // namespace

std::vector<DescribedLogger> describe_loggers() {
  std::vector<DescribedLogger> loggers{{kRoot, word_for(log_level())}};
  for (const std::string_view name : kLogComponents) {
    loggers.push_back({name, word_for(component_log_level(*LogComponent::find(name)))});
  }
  std::ranges::sort(loggers, {}, &DescribedLogger::name);
  return loggers;
}

Status alter_loggers(const std::vector<ConfigChange>& changes, bool validate_only) {
  std::vector<LoggerChange> parsed;
  std::set<std::string_view> named;
  for (const ConfigChange& change : changes) {
    if (!named.insert(change.name).second) return error(ErrorCode::invalid_request, "{} is given twice", change.name);
    NARU_TRY_ASSIGN(parsed.emplace_back(), parse(change));
  }
  if (!validate_only) std::ranges::for_each(parsed, apply);
  return {};
}

Status check_own_loggers(const BrokerServices& services, const RequestContext& context, Operation operation,
                         std::string_view broker) {
  if (!services.authorizer.authorize(context.caller, operation, ResourceType::cluster, kClusterResource)) {
    return Status(ErrorCode::cluster_authorization_failed);
  }
  const std::string self = std::to_string(services.config.node_id.value());
  if (broker == self) return {};
  return error(ErrorCode::invalid_request, "this is broker {}, and the loggers of '{}' were asked for", self,
               broker.substr(0, kShownNameBytes));
}

}  // namespace naru
