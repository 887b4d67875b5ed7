// What members of a classic group say to each other: the coordinator passes it on, and need not understand it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/bytes.h"
#include "simulation/history.h"

namespace naru::simulation {

class GroupLanguage {
 public:
  virtual ~GroupLanguage() = default;
  virtual std::string_view protocol_type() const = 0;
  virtual std::string_view protocol() const = 0;
  // What a member says when it joins: which topics it wants, and which partitions it has not given up.
  virtual Bytes metadata(const std::vector<PartitionName>& all, const std::vector<PartitionName>& owned) const = 0;
  // What a leader gives to each of the members that said this.
  virtual std::vector<Bytes> assign(const std::vector<Bytes>& metadata,
                                    const std::vector<PartitionName>& all) const = 0;
  virtual std::vector<PartitionName> read(BytesView assignment, const std::vector<PartitionName>& all) const = 0;
};

// One of our own, which no coordinator understands.
const GroupLanguage& numbers_language();
// That of consumers. Nobody is given what another one has not given up.
const GroupLanguage& consumer_language();

}  // namespace naru::simulation
