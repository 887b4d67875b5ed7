#include "access/authorizer.h"

#include <span>
#include <utility>

namespace naru {
namespace {

using enum Operation;

constexpr Operation kOnTopics[] = {read, write, create, remove, alter, describe, describe_configs, alter_configs};
constexpr Operation kOnGroups[] = {read, remove, describe, describe_configs, alter_configs};
constexpr Operation kOnClusters[] = {create,           alter,         describe,        cluster_action,
                                     describe_configs, alter_configs, idempotent_write};

constexpr Operation kOnTransactionalIds[] = {write, describe};

std::span<const Operation> operations_on(ResourceType type) {
  switch (type) {
    case ResourceType::topic:
      return kOnTopics;
    case ResourceType::group:
      return kOnGroups;
    case ResourceType::cluster:
      return kOnClusters;
    case ResourceType::transactional_id:
      return kOnTransactionalIds;
  }
  return {};
}

}  // namespace

int32_t authorized_operations(const Authorizer& authorizer, const Caller& caller, ResourceType type,
                              std::string_view resource) {
  int32_t bits = 0;
  for (const Operation operation : operations_on(type)) {
    if (authorizer.authorize(caller, operation, type, resource)) bits |= 1 << std::to_underlying(operation);
  }
  return bits;
}

}  // namespace naru
