#include "configuration/listener_config.h"

#include <algorithm>
#include <map>

#include "configuration/config_definition.h"

namespace naru {
namespace {

constexpr size_t kMaxListeners = 32;
constexpr size_t kMaxNameBytes = 64;

struct NamedEndpoint {
  std::string name;  // empty: a plain "host:port"
  Endpoint endpoint;
};

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

bool is_listener_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, allowed);
}

Result<NamedEndpoint> parse_one(std::string_view text) {
  NamedEndpoint parsed;
  std::string_view address = text;
  if (const size_t separator = text.find("://"); separator != std::string_view::npos) {
    const std::string_view name = text.substr(0, separator);
    if (!is_listener_name(name)) return failure(ErrorCode::invalid_argument, "'{}' is not a listener name", name);
    parsed.name = upper_case(name);
    address = text.substr(separator + 3);
  }
  NARU_TRY_ASSIGN(parsed.endpoint, parse_endpoint(address));
  return parsed;
}

Result<std::vector<NamedEndpoint>> parse_all(std::string_view text) {
  const auto elements = parse_config_list(text);
  if (elements.size() > kMaxListeners) {
    return failure(ErrorCode::invalid_argument, "there are {} listeners, more than {}", elements.size(), kMaxListeners);
  }
  std::vector<NamedEndpoint> all;
  for (const std::string_view element : elements) {
    NARU_TRY_ASSIGN(all.emplace_back(), parse_one(element));
  }
  return all;
}

using ProtocolMap = std::map<std::string, std::string, std::less<>>;

Result<ProtocolMap> parse_protocol_map(std::string_view text) {
  // Kafka's own names are their own protocols even when the map does not say so.
  ProtocolMap map;
  for (const char* protocol : {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}) map[protocol] = protocol;
  for (const std::string_view element : parse_config_list(text)) {
    const size_t colon = element.find(':');
    if (colon == std::string_view::npos || !is_listener_name(element.substr(0, colon))) {
      return failure(ErrorCode::invalid_argument, "'{}' in listener.security.protocol.map is not NAME:PROTOCOL",
                     element);
    }
    map[upper_case(element.substr(0, colon))] = upper_case(element.substr(colon + 1));
  }
  return map;
}

Result<SecurityProtocol> protocol_of(const ProtocolMap& map, const std::string& name) {
  const auto found = map.find(name);
  if (found == map.end()) {
    return failure(ErrorCode::invalid_argument,
                   "listener {0} has no security protocol; add {0}:PLAINTEXT to listener.security.protocol.map", name);
  }
  if (found->second != "PLAINTEXT") {
    return failure(ErrorCode::invalid_argument,
                   "listener {} has the security protocol {}, but only PLAINTEXT is supported so far", name,
                   found->second);
  }
  return SecurityProtocol::plaintext;
}

Status add_listener(std::vector<ListenerConfig>& listeners, ListenerConfig added) {
  for (const ListenerConfig& other : listeners) {
    if (other.name == added.name) return error(ErrorCode::invalid_argument, "listener {} is there twice", added.name);
    if (other.bind == added.bind && added.bind.port != 0) {
      return error(ErrorCode::invalid_argument, "listeners {} and {} share the address {}", other.name, added.name,
                   added.bind.to_string());
    }
  }
  listeners.push_back(std::move(added));
  return {};
}

Status advertise(std::vector<ListenerConfig>& listeners, const NamedEndpoint& advertised) {
  const auto found = advertised.name.empty() ? listeners.begin()
                                             : std::ranges::find(listeners, advertised.name, &ListenerConfig::name);
  if (found == listeners.end()) {
    return error(ErrorCode::invalid_argument, "advertised.listeners names {}, which is not in listeners",
                 advertised.name);
  }
  const Endpoint& address = advertised.endpoint;
  if (address.is_everywhere() || address.port == 0) {
    return error(ErrorCode::invalid_argument,
                 "{} in advertised.listeners is not an address that a client can connect to; name a host and a port",
                 address.to_string());
  }
  if (found->advertised) {
    return error(ErrorCode::invalid_argument, "listener {} is in advertised.listeners twice", found->name);
  }
  found->advertised = address;
  return {};
}

}  // namespace

Result<std::vector<ListenerConfig>> parse_listeners(std::string_view listeners, std::string_view advertised,
                                                    std::string_view protocol_map) {
  NARU_TRY_ASSIGN(const auto protocols, parse_protocol_map(protocol_map));
  NARU_TRY_ASSIGN(const auto bound, parse_all(listeners));
  if (bound.empty()) return failure(ErrorCode::invalid_argument, "listeners is empty: no client could connect");
  std::vector<ListenerConfig> result;
  for (const NamedEndpoint& listener : bound) {
    ListenerConfig config;
    config.name = listener.name.empty() ? "PLAINTEXT" : listener.name;
    config.bind = listener.endpoint;
    NARU_TRY_ASSIGN(config.security_protocol, protocol_of(protocols, config.name));
    NARU_TRY(add_listener(result, std::move(config)));
  }
  NARU_TRY_ASSIGN(const auto told, parse_all(advertised));
  for (const NamedEndpoint& endpoint : told) NARU_TRY(advertise(result, endpoint));
  return result;
}

std::vector<std::string> listener_warnings(const std::vector<ListenerConfig>& listeners) {
  std::vector<std::string> sentences;
  for (const ListenerConfig& listener : listeners) {
    if (!listener.bind.is_loopback()) {
      sentences.push_back(fmt::format(
          "listener {} accepts connections from other machines at {} WITHOUT AUTHENTICATION OR ENCRYPTION: everyone "
          "who "
          "can reach it may read, write and delete all data. Restrict it with a firewall or a private network, or set "
          "listeners to a loopback address",
          listener.name, listener.bind.to_string()));
    } else if (listener.advertised && !listener.advertised->is_loopback()) {
      sentences.push_back(
          fmt::format("listener {} sends clients to {} but accepts connections at {} only: unless something forwards "
                      "them, clients on other machines cannot connect; set listeners, for instance to {}://:{}",
                      listener.name, listener.advertised->to_string(), listener.bind.to_string(), listener.name,
                      listener.bind.port));
    }
  }
  return sentences;
}

}  // namespace naru
