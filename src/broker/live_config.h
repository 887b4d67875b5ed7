// The configuration in effect now: what the broker was started with, and what was changed since.
#pragma once

#include <memory>

#include "cluster_control/metadata_image.h"
#include "configuration/broker_config.h"
#include "foundation/shared_cell.h"

namespace naru {

// current() from any thread; follow() one at a time. `started_with` outlives it.
class LiveConfig {
 public:
  explicit LiveConfig(const BrokerConfig& started_with);

  // Another object whenever something changed.
  std::shared_ptr<const BrokerConfig> current() const { return current_.load(); }

  // Takes over what the metadata says. True if something changed.
  bool follow(const MetadataImage& image);

 private:
  const BrokerConfig& started_with_;
  ConfigOverrides all_brokers_;
  ConfigOverrides this_broker_;
  SharedCell<const BrokerConfig> current_;
};

}  // namespace naru
