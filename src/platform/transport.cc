#include "platform/transport.h"

#include <charconv>

namespace naru {

std::string Endpoint::to_string() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

bool Endpoint::is_loopback() const {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto refuse = [text] { return failure(ErrorCode::invalid_argument, "'{}' is not HOST:PORT", text); };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return refuse();

  Endpoint endpoint;
  endpoint.host = host.empty() ? "0.0.0.0" : std::string(host);
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (problem != std::errc() || end != port.data() + port.size() || port.empty()) return refuse();
  return endpoint;
}

}  // namespace naru
