// Spoils single fields of a request that is otherwise as the schema and the brokers want it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzzing/request_filler.h"

namespace naru::fuzzing {

// How large things may become.
struct MutationLimits {
  size_t list_max = 40;
  size_t text_max = 300;
};

// Two walks: the first counts the fields, arrays' elements included; the second spoils one of them. A visitor of
// kafka::visit_fields.
class RequestMutator {
 public:
  RequestMutator(KnownWorld& world, Random& random, int16_t version, Arena& arena, const MutationLimits& limits)
      : world_(world), random_(random), version_(version), arena_(arena), limits_(limits) {}

  template <class Request>
  void mutate(Request& request) {
    places_ = 0;
    target_.reset();
    visit_fields(*this, request, version_);
    if (places_ == 0) return;
    target_ = random_.below(places_);
    places_ = 0;
    visit_fields(*this, request, version_);
  }

  template <class T>
  void field(std::string_view, std::string_view name, T& value, bool nullable) {
    const bool hit = target_ == places_++;
    if constexpr (IsOptional<T>::value) {
      if (hit) {
        if (!value) {
          value.emplace();
        } else if (nullable) {
          value.reset();
        }
        return;
      }
      if (value) walk(name, *value);
    } else if (hit) {
      spoil(name, value);
    } else {
      walk_inside(name, value);
    }
  }

 private:
  template <class T>
  void walk(std::string_view name, T& value) {
    if (target_ == places_++) {
      spoil(name, value);
    } else {
      walk_inside(name, value);
    }
  }

  template <class T>
  void walk_inside(std::string_view name, T& value) {
    if constexpr (IsVector<T>::value) {
      for (auto& element : value) walk(name, element);
    } else if constexpr (requires { visit_fields(*this, value, version_); }) {
      visit_fields(*this, value, version_);
    }
  }

  template <class T>
  void spoil(std::string_view name, T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = !value;
    } else if constexpr (std::integral<T>) {
      value = number(value);
    } else if constexpr (IsStrongInt<T>::value) {
      value = T(number(value.value()));
    } else if constexpr (std::same_as<T, std::string_view>) {
      value = text(value);
    } else if constexpr (std::same_as<T, BytesView>) {
      value = as_bytes(arena_.emplace_back(bytes(as_text(value))));
    } else if constexpr (std::same_as<T, Uuid>) {
      value = uuid(value);
    } else if constexpr (IsVector<T>::value) {
      spoil_list(name, value);
    } else {
      value = T();
    }
  }

  template <class Number>
  Number number(Number now) {
    using Limits = std::numeric_limits<Number>;
    switch (random_.below(10)) {
      case 0:
        return Limits::min();
      case 1:
        return static_cast<Number>(-2);
      case 2:
        return static_cast<Number>(-1);
      case 3:
        return 0;
      case 4:
        return 1;
      case 5:
        return Limits::max();
      case 6:
        return static_cast<Number>(static_cast<uint64_t>(now) + 1);
      case 7:
        return static_cast<Number>(static_cast<uint64_t>(now) - 1);
      case 8:
        return static_cast<Number>(static_cast<uint64_t>(now) * 2);
      default:
        return static_cast<Number>(random_.next());
    }
  }

  template <class Element>
  void spoil_list(std::string_view name, std::vector<Element>& list) {
    switch (random_.below(6)) {
      case 0:
        list.clear();
        return;
      case 1:
        std::ranges::reverse(list);
        return;
      case 2:  // the same one twice
        if (!list.empty()) list.push_back(list[random_.below(list.size())]);
        return;
      default:
        break;
    }
    // Many of the same, or of similar ones.
    const size_t count = 1 + random_.below(limits_.list_max);
    if (list.empty()) list.emplace_back();
    const size_t originals = list.size();
    const bool similar = random_.one_in(2);
    list.reserve(count);
    while (list.size() < count) {
      list.push_back(list[list.size() % originals]);
      if (similar) vary(name, list.back(), static_cast<int64_t>(list.size()));
    }
  }

  template <class Element>
  void vary(std::string_view, Element& element, int64_t by) {
    if constexpr (std::integral<Element>) {
      element = static_cast<Element>(static_cast<uint64_t>(element) + static_cast<uint64_t>(by));
    } else if constexpr (IsStrongInt<Element>::value) {
      element = Element(
          static_cast<typename Element::rep>(static_cast<uint64_t>(element.value()) + static_cast<uint64_t>(by)));
    } else if constexpr (std::same_as<Element, std::string_view>) {
      element = arena_.emplace_back(std::string(element) + std::to_string(by));
    } else if constexpr (requires { element.partition_index; }) {
      vary("", element.partition_index, by);
    } else if constexpr (requires { element.partition; }) {
      vary("", element.partition, by);
    } else if constexpr (requires { element.name; }) {
      if constexpr (std::same_as<decltype(element.name), std::string_view>) vary("", element.name, by);
    }
  }

  std::string_view text(std::string_view now);
  std::string bytes(std::string_view now);
  Uuid uuid(const Uuid& now);

  KnownWorld& world_;
  Random& random_;
  const int16_t version_;
  Arena& arena_;
  const MutationLimits limits_;
  uint64_t places_ = 0;
  std::optional<uint64_t> target_;
};

// Some bytes of a frame behind its header are changed, left out or put in; the size in front of it fits again.
void mutate_bytes(Random& random, Bytes& frame, size_t header_bytes);

}  // namespace naru::fuzzing
