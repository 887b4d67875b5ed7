// Fills the fields of a request from what is known of the brokers, such that the fields go together: the partition is
// one of the topic, the generation that of the member, the epoch that of the producer.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/strong_int.h"
#include "foundation/uuid.h"
#include "fuzzing/known_world.h"
#include "kafka_protocol/messages/message_fields.h"

namespace naru::fuzzing {

// Texts and bytes that a request points to; lives as long as it.
using Arena = std::deque<std::string>;

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsStrongInt : std::false_type {};
template <class Tag, class Rep>
struct IsStrongInt<StrongInt<Tag, Rep>> : std::true_type {};

// What the recipes make of a request, where they know how.
struct FillStyle {
  bool large = false;           // something large
  bool unread = false;          // something whose answer holds on to much until it is read
  size_t bytes_max = SIZE_MAX;  // of a large one
};

// A visitor of kafka::visit_fields.
class RequestFiller {
 public:
  RequestFiller(KnownWorld& world, Random& random, kafka::ApiKey api, int16_t version, Arena& arena, WallTimeMs now_ms,
                FillStyle style);

  template <class T>
  void field(std::string_view structure, std::string_view name, T& value, bool nullable) {
    if constexpr (IsOptional<T>::value) {
      value.reset();
      if (!nullable || !should_be_null(structure, name)) field(structure, name, value.emplace(), false);
    } else if constexpr (IsVector<T>::value) {
      value.resize(list_size(structure, name));
      for (auto& element : value) field(structure, name, element, false);
    } else if constexpr (std::same_as<T, bool>) {
      value = random_.one_in(2);
    } else if constexpr (std::same_as<T, std::string_view>) {
      value = text(structure, name);
    } else if constexpr (std::same_as<T, BytesView>) {
      value = bytes(name);
    } else if constexpr (std::same_as<T, Uuid>) {
      value = uuid(name);
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(number(structure, name));
    } else if constexpr (IsStrongInt<T>::value) {
      value = T(static_cast<typename T::rep>(number(structure, name)));
    } else {
      visit_fields(*this, value, version_);
    }
  }

  KnownWorld& world() { return world_; }
  Random& random() { return random_; }
  int16_t version() const { return version_; }
  bool large() const { return style_.large; }
  size_t bytes_max() const { return style_.bytes_max; }
  bool unread() const { return style_.unread; }
  std::string_view keep(std::string text) { return arena_.emplace_back(std::move(text)); }
  BytesView keep(const Bytes& bytes) { return as_bytes(keep(std::string(as_text(bytes)))); }

  // The choices so far. Each is made when the first field asks for it.
  const TopicMetadata* topic() const { return topic_; }
  const PartitionState* partition() const { return partition_; }
  KnownGroup& group();
  KnownMember* member();
  KnownTransaction& transaction();
  BrokerId broker();
  void choose(KnownTransaction* transaction) { transaction_ = transaction; }
  // Any, or that one.
  void choose_topic(std::string_view name = "");
  int32_t choose_partition();
  Bytes batch();

  // Who should be asked, by the choices that were made.
  BrokerId target();
  void set_target(BrokerId id) { target_ = id; }

 private:
  bool should_be_null(std::string_view structure, std::string_view name);
  size_t list_size(std::string_view structure, std::string_view name);
  std::string_view text(std::string_view structure, std::string_view name);
  std::string_view coordinator_key();
  BytesView bytes(std::string_view name);
  Uuid uuid(std::string_view name);
  int64_t number(std::string_view structure, std::string_view name);
  std::optional<int64_t> number_of_partition(std::string_view name);
  std::optional<int64_t> number_of_client(std::string_view name);
  std::optional<int64_t> number_of_broker(std::string_view name);
  std::optional<int64_t> limit(std::string_view name);
  KnownMember* choose_member();
  bool member_fits(const KnownMember& member) const;
  bool group_fits(const KnownGroup& group) const;
  bool transaction_fits(const KnownTransaction& transaction) const;
  std::string_view topic_text();

  KnownWorld& world_;
  Random& random_;
  const kafka::ApiKey api_;
  const int16_t version_;
  Arena& arena_;
  const WallTimeMs now_ms_;
  const FillStyle style_;
  const TopicMetadata* topic_ = nullptr;
  const PartitionState* partition_ = nullptr;
  KnownGroup* group_ = nullptr;
  bool member_chosen_ = false;
  KnownMember* member_ = nullptr;
  KnownTransaction* transaction_ = nullptr;
  BrokerId broker_ = kNoBroker;
  BrokerId target_ = kNoBroker;
};

}  // namespace naru::fuzzing
