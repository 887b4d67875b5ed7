// The record batches of a response: bytes at hand, or a promise that the network layer fills from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "foundation/bytes.h"

namespace naru::kafka {

// Bytes that are not in memory: whoever encodes the response gives the id a meaning.
struct ExternalRecords {
  uint64_t id = 0;
  size_t size = 0;

  bool operator==(const ExternalRecords&) const = default;
};

// Null, owned or external. Default-constructed it is empty but not null, which every client accepts.
class Records {
 public:
  Records() : content_(Bytes()) {}
  Records(Bytes bytes) : content_(std::move(bytes)) {}       // NOLINT(google-explicit-constructor)
  Records(ExternalRecords external) : content_(external) {}  // NOLINT(google-explicit-constructor)
  static Records null() {
    Records records;
    records.content_ = std::monostate();
    return records;
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(content_); }
  const ExternalRecords* external() const { return std::get_if<ExternalRecords>(&content_); }
  // Empty when null or external.
  BytesView bytes() const {
    const Bytes* owned = std::get_if<Bytes>(&content_);
    return owned == nullptr ? BytesView() : BytesView(*owned);
  }
  size_t size() const { return external() != nullptr ? external()->size : bytes().size(); }
  bool empty() const { return size() == 0; }

  bool operator==(const Records&) const = default;

 private:
  std::variant<std::monostate, Bytes, ExternalRecords> content_;
};

}  // namespace naru::kafka
