// The states, or the types, of groups that a client wants to see.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace naru {

// States and types of groups. Another word lets nothing through.
inline constexpr std::array<std::string_view, 9> kGroupWords{
    "Empty",   "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Assigning", "Reconciling", "classic",
    "consumer"};

inline bool is_same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return a.size() == b.size() && std::ranges::equal(a, b, {}, lower, lower);
}

// Takes no memory, however long the request's list is.
class GroupFilter {
 public:
  void add(std::string_view word) {
    lets_all_through_ = false;
    const size_t index = index_of(word);
    if (index < kGroupWords.size()) wanted_.set(index);
  }
  // No filter lets everything through.
  bool lets_through(std::string_view value) const {
    const size_t index = lets_all_through_ ? 0 : index_of(value);
    return lets_all_through_ || (index < kGroupWords.size() && wanted_.test(index));
  }

 private:
  static size_t index_of(std::string_view word) {
    const auto* found =
        std::ranges::find_if(kGroupWords, [word](std::string_view each) { return is_same_word(each, word); });
    return static_cast<size_t>(found - kGroupWords.begin());
  }

  bool lets_all_through_ = true;
  std::bitset<kGroupWords.size()> wanted_;
};

}  // namespace naru
