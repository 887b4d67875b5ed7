#include "simulation/group_language.h"

#include <map>
#include <set>
#include <utility>

#include "kafka_protocol/messages/consumer_protocol_assignment.h"
#include "kafka_protocol/messages/consumer_protocol_subscription.h"
#include "kafka_protocol/wire_reader.h"
#include "kafka_protocol/wire_writer.h"

namespace naru::simulation {
namespace {

// Numbers of partitions, with a blank behind each.
class NumbersLanguage final : public GroupLanguage {
 public:
  std::string_view protocol_type() const override { return "simulation"; }
  std::string_view protocol() const override { return "turns"; }
  Bytes metadata(const std::vector<PartitionName>&, const std::vector<PartitionName>&) const override {
    return Bytes(as_bytes(protocol()).begin(), as_bytes(protocol()).end());
  }
  std::vector<Bytes> assign(const std::vector<Bytes>& metadata, const std::vector<PartitionName>& all) const override {
    std::vector<Bytes> assignments;
    for (size_t member = 0; member < metadata.size(); ++member) {
      std::string text;
      for (size_t i = member; i < all.size(); i += metadata.size()) text += std::to_string(i) + ' ';
      assignments.emplace_back(as_bytes(text).begin(), as_bytes(text).end());
    }
    return assignments;
  }
  std::vector<PartitionName> read(BytesView assignment, const std::vector<PartitionName>& all) const override {
    std::vector<PartitionName> partitions;
    size_t number = 0;
    for (const std::byte byte : assignment) {
      const char c = static_cast<char>(byte);
      if (c == ' ') {
        partitions.push_back(all.at(std::exchange(number, 0)));
      } else {
        number = 10 * number + static_cast<size_t>(c - '0');
      }
    }
    return partitions;
  }
};

constexpr int16_t kConsumerProtocolVersion = 1;  // the first one that says what a member has

template <class Message>
Bytes write_embedded(const Message& message) {
  Bytes bytes;
  kafka::WireWriter writer(bytes);
  writer.write<int16_t>(kConsumerProtocolVersion);
  kafka::encode(writer, message, kConsumerProtocolVersion);
  return bytes;
}

template <class Message>
Message read_embedded(BytesView bytes) {
  Message message;
  if (bytes.empty()) return message;
  kafka::WireReader reader(bytes);
  int16_t version = 0;
  reader.read<int16_t>(version);
  kafka::decode(reader, message, version);
  return message;
}

template <class Topic>
std::vector<Topic> by_topic(const std::vector<PartitionName>& partitions) {
  std::map<std::string, std::vector<int32_t>> numbers;
  for (const auto& [topic, partition] : partitions) numbers[topic].push_back(partition.value());
  std::vector<Topic> topics;
  for (auto& [topic, partitions_of_topic] : numbers) topics.push_back({topic, std::move(partitions_of_topic)});
  return topics;
}

template <class Topic>
std::vector<PartitionName> flat(const std::vector<Topic>& topics) {
  std::vector<PartitionName> partitions;
  for (const Topic& topic : topics) {
    for (const int32_t number : topic.partitions) partitions.emplace_back(topic.topic, PartitionIndex(number));
  }
  return partitions;
}

class ConsumerLanguage final : public GroupLanguage {
 public:
  using Subscription = kafka::ConsumerProtocolSubscription;
  using Assignment = kafka::ConsumerProtocolAssignment;

  std::string_view protocol_type() const override { return "consumer"; }
  std::string_view protocol() const override { return "turns"; }
  Bytes metadata(const std::vector<PartitionName>& all, const std::vector<PartitionName>& owned) const override {
    std::set<std::string> topics;
    for (const PartitionName& partition : all) topics.insert(partition.first);
    Subscription subscription;
    subscription.topics.assign(topics.begin(), topics.end());
    subscription.owned_partitions = by_topic<Subscription::TopicPartition>(owned);
    return write_embedded(subscription);
  }
  std::vector<Bytes> assign(const std::vector<Bytes>& metadata, const std::vector<PartitionName>& all) const override {
    std::map<PartitionName, std::set<size_t>> owners;
    for (size_t member = 0; member < metadata.size(); ++member) {
      const auto said = read_embedded<Subscription>(metadata[member]);
      for (const PartitionName& partition : flat(said.owned_partitions)) owners[partition].insert(member);
    }
    std::vector<std::vector<PartitionName>> given(metadata.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t member = i % metadata.size();
      const std::set<size_t>& claimed_by = owners[all[i]];
      if (claimed_by.empty() || claimed_by == std::set<size_t>{member}) given[member].push_back(all[i]);
    }
    std::vector<Bytes> assignments;
    for (const auto& partitions : given) {
      assignments.push_back(
          write_embedded(Assignment{.assigned_partitions = by_topic<Assignment::TopicPartition>(partitions)}));
    }
    return assignments;
  }
  std::vector<PartitionName> read(BytesView assignment, const std::vector<PartitionName>&) const override {
    return flat(read_embedded<Assignment>(assignment).assigned_partitions);
  }
};

}  // namespace

const GroupLanguage& numbers_language() {
  static const NumbersLanguage language;
  return language;
}

const GroupLanguage& consumer_language() {
  static const ConsumerLanguage language;
  return language;
}

}  // namespace naru::simulation
