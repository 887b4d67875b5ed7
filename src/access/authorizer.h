// May this caller do that? Every handler asks, whatever its protocol.
#pragma once

#include <cstdint>
#include <string_view>

#include "access/caller.h"

namespace naru {

// Kafka's numbers.
enum class Operation : int8_t {
  read = 3,
  write = 4,
  create = 5,
  remove = 6,
  alter = 7,
  describe = 8,
  cluster_action = 9,
  describe_configs = 10,
  alter_configs = 11,
  idempotent_write = 12,
};
enum class ResourceType : int8_t { topic = 2, group = 3, cluster = 4, transactional_id = 5 };

inline constexpr std::string_view kClusterResource = "kafka-cluster";

// Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual bool authorize(const Caller& caller, Operation operation, ResourceType type,
                         std::string_view resource) const = 0;
};

// As a response carries it: a bit for each operation on the resource that is allowed.
int32_t authorized_operations(const Authorizer& authorizer, const Caller& caller, ResourceType type,
                              std::string_view resource);

// Without access control: everything is allowed, except that callers on a listener for clients cannot act as a broker.
class ListenerRights final : public Authorizer {
 public:
  bool authorize(const Caller& caller, Operation operation, ResourceType, std::string_view) const override {
    return operation != Operation::cluster_action || caller.purpose != ListenerPurpose::clients;
  }
};

}  // namespace naru
