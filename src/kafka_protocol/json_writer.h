// Shows a message on one line of the log. The generated to_json() functions call it.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/error_code.h"
#include "foundation/strong_int.h"
#include "foundation/uuid.h"
#include "kafka_protocol/records.h"

namespace naru::kafka {

// Long arrays and strings are shortened, bytes and records are shown as their size: the result is valid JSON, small,
// and free of what users send.
class JsonWriter {
 public:
  static constexpr size_t kElementsMax = 8;
  static constexpr size_t kTextMax = 256;

  std::string take() { return std::move(text_); }

  template <class WriteMembers>
  void object(WriteMembers write_members) {
    text_ += '{';
    first_ = true;
    write_members();
    text_ += '}';
    first_ = false;
  }
  template <class T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  // For a structure, or an array of them: show(structure) shows one.
  template <class T, class Show>
  void member(std::string_view name, const T& content, Show show) {
    key(name);
    nested(content, show);
  }

 private:
  void key(std::string_view name);

  // Every integer of the protocol fits int64_t.
  void value(std::integral auto number) { integer(number); }
  void value(bool flag) { text_ += flag ? "true" : "false"; }
  template <class Tag, class Rep>
  void value(StrongInt<Tag, Rep> id) {
    value(id.value());
  }
  void value(double number);
  void value(ErrorCode code) { value(describe(code).name); }
  void value(const Uuid& id) { value(std::string_view(id.to_string())); }
  void value(std::string_view text);
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(BytesView bytes) { size_of_bytes(bytes.size()); }
  void value(const Bytes& bytes) { size_of_bytes(bytes.size()); }
  void value(const Records& records);
  template <class T>
  void value(const std::optional<T>& content) {
    if (content) return value(*content);
    null();
  }
  template <class T>
  void value(const std::vector<T>& elements) {
    array(elements, [this](const T& element) { value(element); });
  }

  template <class T, class Show>
  void nested(const T& structure, Show& show) {
    show(structure);
  }
  template <class T, class Show>
  void nested(const std::optional<T>& content, Show& show) {
    if (content) return nested(*content, show);
    null();
  }
  template <class T, class Show>
  void nested(const std::vector<T>& elements, Show& show) {
    array(elements, show);
  }

  template <class T, class Show>
  void array(const std::vector<T>& elements, Show show) {
    const size_t shown = elements.size() < kElementsMax ? elements.size() : kElementsMax;
    text_ += '[';
    for (size_t i = 0; i < shown; ++i) {
      if (i > 0) text_ += ',';
      show(elements[i]);
    }
    if (shown < elements.size()) omitted(elements.size() - shown);
    text_ += ']';
  }

  void integer(int64_t number);
  void null();
  void size_of_bytes(size_t size);
  void omitted(size_t count);

  std::string text_;
  bool first_ = true;
};

}  // namespace naru::kafka
