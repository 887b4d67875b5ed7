// Builds JSON as text. Small on purpose: the command line writes JSON and never reads any.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace naru::command_line {

class JsonText {
 public:
  enum class Layout : uint8_t { indented, one_line };
  explicit JsonText(Layout layout = Layout::indented) : layout_(layout) {}

  JsonText& open_object() { return open('{'); }
  JsonText& close_object() { return close('}'); }
  JsonText& open_array() { return open('['); }
  JsonText& close_array() { return close(']'); }
  // In an object, in front of each value.
  JsonText& key(std::string_view name);

  // What is not UTF-8 in a text becomes U+FFFD.
  JsonText& value(std::string_view text);
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& value(const std::string& text) { return value(std::string_view(text)); }
  JsonText& value(bool flag);
  JsonText& value(double number);
  JsonText& value(std::integral auto number) { return raw(std::to_string(number)); }
  template <class T>
  JsonText& value(const std::optional<T>& content) {
    return content ? value(*content) : raw("null");
  }

  template <class T>
  JsonText& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  // The document, ending with a newline.
  std::string take();

 private:
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  JsonText& raw(std::string_view text);
  void before_value();
  void new_line();

  const Layout layout_;
  std::string text_;
  std::vector<bool> has_elements_;  // of each open bracket
  bool after_key_ = false;
};

std::string base64(std::string_view bytes);

}  // namespace naru::command_line
