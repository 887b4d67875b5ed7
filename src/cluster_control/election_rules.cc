#include "cluster_control/election_rules.h"

#include <algorithm>

#include "cluster_control/effective_config.h"

namespace naru {

ElectionRulesOfTopics::ElectionRulesOfTopics(const BrokerConfig& config, const MetadataImage& image)
    : image_(image), broker_(effective_broker_config(config, image)), without_any_(resolve({}, -1)) {}

const ElectionRules& ElectionRulesOfTopics::of(const Uuid& topic_id) {
  const TopicMetadata* topic = image_.find_topic(topic_id);
  if (topic == nullptr || (topic->configs.empty() && topic->synced_since < 0)) return without_any_;
  const auto found = of_others_.find(topic_id);
  if (found != of_others_.end()) return found->second;
  return of_others_.emplace(topic_id, resolve(topic->configs, topic->synced_since)).first->second;
}

ElectionRules ElectionRulesOfTopics::resolve(const ConfigOverrides& overrides, int64_t synced_since) const {
  const TopicConfig config = resolve_topic_config(broker_, overrides);
  return {.acknowledges_after_sync = config.acknowledges_after_sync(),
          .synced_since = std::max(synced_since, image_.cluster().synced_since),
          .unclean_leader_election = config.unclean_leader_election};
}

}  // namespace naru
