#include "configuration/coordination_address.h"

#include <algorithm>
#include <utility>

#include "configuration/config_definition.h"

namespace naru {
namespace {

constexpr std::string_view kEmbedded = "embedded";
constexpr std::string_view kDefaultRoot = "/naru";
constexpr size_t kMaxRootBytes = 200;

struct Scheme {
  std::string_view text;
  CoordinationService service;
  std::string_view default_port;
};
constexpr Scheme kSchemes[] = {
    {"zookeeper://", CoordinationService::zookeeper, "2181"},
    {"etcd://", CoordinationService::etcd, "2379"},
};

template <class... Args>
std::unexpected<Status> refuse(fmt::format_string<Args...> format, Args&&... args) {
  return failure(error(ErrorCode::invalid_config, format, std::forward<Args>(args)...));
}

Result<Endpoint> parse_server(std::string_view text, const Scheme& scheme) {
  const bool has_port = text.ends_with(']') ? false : text.find(':') != std::string_view::npos;
  const auto server = parse_endpoint(has_port ? std::string(text) : fmt::format("{}:{}", text, scheme.default_port));
  if (!server || text.empty() || text.starts_with(':') || server->port == 0) {
    return refuse("'{}' is not HOST:PORT", text);
  }
  return server;
}

// What is a path in ZooKeeper and readable in etcd.
Status check_root(std::string_view root) {
  const auto bad = [root](std::string_view why) {
    return error(ErrorCode::invalid_config, "the root '{}' {}", root, why);
  };
  if (root.size() > kMaxRootBytes) return bad("is too long");
  for (std::string_view rest = root; !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(name.size());
    if (name.empty()) return bad("has an empty name in it; it looks like /naru or /production/naru");
    if (name == "." || name == ".." || name == "zookeeper")
      return bad("has a name in it that ZooKeeper keeps to itself");
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
             c == '-';
    };
    if (!std::ranges::all_of(name, allowed)) return bad("may hold letters, digits, '.', '_' and '-' only");
  }
  return {};
}

}  // namespace

std::string CoordinationAddress::to_string() const {
  for (const Scheme& scheme : kSchemes) {
    if (scheme.service != service) continue;
    std::string text(scheme.text);
    for (size_t i = 0; i < servers.size(); ++i) text += (i > 0 ? "," : "") + servers[i].to_string();
    return text + root;
  }
  return std::string(kEmbedded);
}

Result<CoordinationAddress> parse_coordination_address(std::string_view text) {
  if (text == kEmbedded) return CoordinationAddress{};
  for (const Scheme& scheme : kSchemes) {
    if (!text.starts_with(scheme.text)) continue;
    text.remove_prefix(scheme.text.size());
    const size_t slash = std::min(text.find('/'), text.size());
    const std::string_view root = slash < text.size() ? text.substr(slash) : kDefaultRoot;
    NARU_TRY(check_root(root));
    CoordinationAddress address{.service = scheme.service, .root = std::string(root)};
    for (const std::string_view server : parse_config_list(text.substr(0, slash))) {
      NARU_TRY_ASSIGN(auto endpoint, parse_server(server, scheme));
      if (std::ranges::find(address.servers, endpoint) != address.servers.end()) {
        return refuse("{} is named twice", endpoint.to_string());
      }
      address.servers.push_back(std::move(endpoint));
    }
    if (address.servers.empty()) return refuse("it names no server");
    return address;
  }
  return refuse("it is embedded, zookeeper://HOST:PORT,.../ROOT or etcd://HOST:PORT,.../ROOT");
}

}  // namespace naru
