// The origin of a request, as authorization, quotas, logs and metrics see it, whatever the protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "platform/transport.h"

namespace naru {

struct Principal {
  std::string type = "User";
  std::string name = "ANONYMOUS";

  bool operator==(const Principal&) const = default;
};

// How the principal was established. The numbers travel between brokers.
enum class Authentication : int8_t { none = 0 };

// Whose connections a listener is for.
enum class ListenerPurpose : uint8_t { clients, brokers, clients_and_brokers };

// What the client calls itself: for logs, metrics and workarounds, never for rights.
struct ClientSoftware {
  std::string name;
  std::string version;

  bool operator==(const ClientSoftware&) const = default;
};

struct Caller {
  Principal principal;
  Authentication authentication = Authentication::none;
  std::string listener;
  ListenerPurpose purpose = ListenerPurpose::clients;  // of the listener
  Endpoint address;
  ClientSoftware software;

  bool operator==(const Caller&) const = default;
};

// Never changed once it is shared.
using CallerPtr = std::shared_ptr<const Caller>;

}  // namespace naru
