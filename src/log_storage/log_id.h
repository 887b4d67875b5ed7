// What a log is called wherever its name does not matter: a topic that is made again gets another id.
#pragma once

#include <compare>
#include <string>

#include "foundation/ids.h"
#include "foundation/uuid.h"

namespace naru {

struct LogId {
  Uuid topic_id;
  PartitionIndex partition{0};

  auto operator<=>(const LogId&) const = default;
  std::string to_string() const { return fmt::format("{}-{}", topic_id.to_string(), partition); }
};

}  // namespace naru
