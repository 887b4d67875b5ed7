// May this principal do that? Every handler but ApiVersions asks; the one answer so far is yes.
#pragma once

#include <cstdint>
#include <string_view>

#include "broker/request_context.h"

namespace naru {

// Kafka's numbers.
enum class Operation : int8_t {
  read = 3,
  write = 4,
  create = 5,
  remove = 6,
  alter = 7,
  describe = 8,
  idempotent_write = 12,
};
enum class ResourceType : int8_t { topic = 2, group = 3, cluster = 4 };

inline constexpr std::string_view kClusterResource = "kafka-cluster";

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual bool authorize(const RequestContext& context, Operation operation, ResourceType type,
                         std::string_view resource) const = 0;
};

class AllowAll final : public Authorizer {
 public:
  bool authorize(const RequestContext&, Operation, ResourceType, std::string_view) const override { return true; }
};

}  // namespace naru
