// For tests: random values of every type that a message can have, and their comparison. The generated random_messages.h
// puts them together.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/error_code.h"
#include "foundation/strong_int.h"
#include "foundation/uuid.h"
#include "kafka_protocol/records.h"

namespace naru::kafka {

// A sequence fixed by its seed. Views that it hands out live as long as it does.
class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }
  uint64_t below(uint64_t limit) { return next() % limit; }

  // Zero, -1 and the extremes are as likely as all the rest.
  template <std::integral T>
  void fill(T& out) {
    constexpr T kEdges[] = {T{0}, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    out = below(2) == 0 ? kEdges[below(4)] : static_cast<T>(next());
  }
  void fill(bool& out) { out = below(2) == 0; }
  void fill(double& out) { out = static_cast<double>(static_cast<int64_t>(next())) / 1024; }
  void fill(Uuid& out) { out = below(4) == 0 ? Uuid{} : Uuid{next(), next()}; }
  template <class Tag, class Rep>
  void fill(StrongInt<Tag, Rep>& out) {
    Rep value;
    fill(value);
    out = StrongInt<Tag, Rep>(value);
  }
  void fill(ErrorCode& out) {
    do {
      out = error_table()[below(error_table().size())].code;
    } while (wire_code(out) != static_cast<int16_t>(out));
  }
  void fill(std::string& out) {
    out.resize(size());
    for (char& character : out) character = static_cast<char>(next());
  }
  void fill(std::string_view& out) {
    fill(texts_.emplace_back());
    out = texts_.back();
  }
  void fill(Bytes& out) {
    std::string_view text;
    fill(text);
    out.assign(as_bytes(text).begin(), as_bytes(text).end());
  }
  void fill(BytesView& out) {
    std::string_view text;
    fill(text);
    out = as_bytes(text);
  }

  void fill_records(Records& out, bool nullable) {
    if (nullable && below(4) == 0) {
      out = Records::null();
      return;
    }
    Bytes bytes;
    fill(bytes);
    out = std::move(bytes);
  }
  template <class Data>
  void fill_records(Data& out, bool) {
    fill(out);
  }
  template <class Data>
  void fill_records(std::optional<Data>& out, bool nullable) {
    fill_nullable(out, nullable, [this](Data& value) { fill(value); });
  }
  template <class T, class Fill>
  void fill_nullable(std::optional<T>& out, bool nullable, Fill fill_value) {
    out.reset();
    if (!nullable || below(4) != 0) fill_value(out.emplace());
  }
  template <class T, class Fill>
  void fill_array(std::vector<T>& out, Fill fill_element) {
    out.resize(below(4));
    for (T& element : out) fill_element(element);
  }

 private:
  // Now and then long enough for a length of two bytes.
  size_t size() { return below(16) == 0 ? 120 + below(20) : below(9); }

  uint64_t state_;
  std::deque<std::string> texts_;
};

template <class T>
bool same_value(const T& a, const T& b) {
  return a == b;
}
inline bool same_value(BytesView a, BytesView b) {
  return equal_bytes(a, b);
}
template <class T>
bool same_value(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return same_value(x, y); });
}
template <class T>
bool same_value(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same_value(*a, *b));
}

}  // namespace naru::kafka
