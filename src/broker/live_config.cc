#include "broker/live_config.h"

#include "cluster_control/effective_config.h"

namespace naru {

LiveConfig::LiveConfig(const BrokerConfig& started_with)
    : started_with_(started_with), current_(std::make_shared<const BrokerConfig>(started_with)) {}

bool LiveConfig::follow(const MetadataImage& image) {
  const BrokerConfigLayers layers = config_layers(started_with_, image);
  if (layers.all_brokers == all_brokers_ && layers.this_broker == this_broker_) return false;
  all_brokers_ = layers.all_brokers;
  this_broker_ = layers.this_broker;
  current_.store(std::make_shared<const BrokerConfig>(effective_config(layers)));
  return true;
}

}  // namespace naru
