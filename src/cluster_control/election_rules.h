// The election rules of topics, looked up once each: resolving a topic's configuration costs more than an election.
#pragma once

#include <map>
#include <optional>

#include "cluster_control/leader_election.h"
#include "cluster_control/metadata_image.h"
#include "configuration/broker_config.h"

namespace naru {

// For one image. The configuration and the image outlive it.
class ElectionRulesOfTopics {
 public:
  // `config`: what the controller was started with.
  ElectionRulesOfTopics(const BrokerConfig& config, const MetadataImage& image);

  const ElectionRules& of(const Uuid& topic_id);

 private:
  ElectionRules resolve(const ConfigOverrides& overrides, int64_t synced_since) const;

  const MetadataImage& image_;
  const BrokerConfig broker_;        // what holds now
  const ElectionRules without_any_;  // of topics without a configuration of their own
  std::map<Uuid, ElectionRules> of_others_;
};

}  // namespace naru
