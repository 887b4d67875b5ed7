// Encodes the primitive forms of the Kafka protocol; the generated encode() and encoded_size() functions call it.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "foundation/byte_writer.h"
#include "foundation/bytes.h"
#include "foundation/error_code.h"
#include "foundation/strong_int.h"
#include "foundation/uuid.h"
#include "kafka_protocol/records.h"
#include "kafka_protocol/wire_form.h"

namespace naru::kafka {

class WireSizer;

// The part of a string that fits the wire: a string of ours that is longer (only a message for people can be) is cut
// between two characters.
std::string_view fitting_text(std::string_view text);

// The forms, once for writing and once for measuring: Derived has put_int, put_uvarint, put_bytes and put_external.
template <class Derived>
class WireSink {
 public:
  // Wire is the integer type in the schema; the field may be a strong integer or an ErrorCode of the same size.
  template <std::integral Wire>
  void write(Wire value) {
    self().put_int(value);
  }
  template <std::integral Wire, class Tag>
  void write(StrongInt<Tag, Wire> value) {
    self().put_int(value.value());
  }
  template <std::same_as<int16_t> Wire>
  void write(ErrorCode value) {
    self().put_int(wire_code(value));
  }
  void write_bool(bool value) { self().put_int(static_cast<int8_t>(value)); }
  void write_float64(double value) { self().put_int(std::bit_cast<uint64_t>(value)); }
  void write_uuid(const Uuid& value) {
    self().put_int(value.high);
    self().put_int(value.low);
  }
  void write_uvarint(uint32_t value) { self().put_uvarint(value); }

  void write_string(std::string_view text, LengthForm form) {
    const std::string_view fitting = fitting_text(text);
    text_was_cut_ |= fitting.size() < text.size();
    if (form == LengthForm::compact) {
      write_compact_length(fitting.size());
    } else {
      self().put_int(static_cast<int16_t>(fitting.size()));
    }
    self().put_bytes(as_bytes(fitting));
  }
  template <class Text>
  void write_nullable_string(const std::optional<Text>& text, LengthForm form, bool nullable) {
    if (text) return write_string(*text, form);
    check_nullable(nullable);
    if (form == LengthForm::compact) {
      self().put_uvarint(0);
    } else {
      self().put_int(int16_t{-1});
    }
  }

  void write_bytes(BytesView bytes, LengthForm form) {
    write_length(bytes.size(), form);
    self().put_bytes(bytes);
  }
  template <class Data>
  void write_nullable_bytes(const std::optional<Data>& bytes, LengthForm form, bool nullable) {
    if (bytes) return write_bytes(*bytes, form);
    write_null(form, nullable);
  }
  void write_records(const Records& records, LengthForm form, bool nullable) {
    if (records.is_null()) return write_null(form, nullable);
    write_length(records.size(), form);
    if (const ExternalRecords* external = records.external()) {
      self().put_external(*external);
    } else {
      self().put_bytes(records.bytes());
    }
  }

  template <class Element, class WriteElement>
  void write_array(const std::vector<Element>& elements, LengthForm form, WriteElement write_element) {
    write_length(elements.size(), form);
    for (const Element& element : elements) write_element(element);
  }
  template <class Element, class WriteElement>
  void write_nullable_array(const std::optional<std::vector<Element>>& elements, LengthForm form, bool nullable,
                            WriteElement write_element) {
    if (elements) return write_array(*elements, form, write_element);
    write_null(form, nullable);
  }

  template <class Struct, class WriteStruct>
  void write_nullable_struct(const std::optional<Struct>& value, bool nullable, WriteStruct write_struct) {
    if (!value) check_nullable(nullable);
    self().put_int(static_cast<int8_t>(value ? 1 : -1));
    if (value) write_struct(*value);
  }

  bool text_was_cut() const { return text_was_cut_; }

  // The first reason why the message cannot be sent; null: it can. What was written is worth nothing then. Whether a
  // message fits its version may depend on what a client has asked for, so this is no reason to end the process.
  const char* failure() const { return failure_; }
  void fail(const char* why) {
    if (failure_ == nullptr) failure_ = why;
  }

  // write_field(sink) writes the field's value into any sink: it is measured first, because its size comes before it.
  template <class WriteField>
  void write_tagged(uint32_t tag, WriteField write_field);

 private:
  friend Derived;
  WireSink() = default;

  Derived& self() { return static_cast<Derived&>(*this); }

  void check_nullable(bool nullable) {
    if (!nullable) fail("a field is null in a version that does not allow it");
  }
  void write_null(LengthForm form, bool nullable) {
    check_nullable(nullable);
    if (form == LengthForm::compact) {
      self().put_uvarint(0);
    } else {
      self().put_int(int32_t{-1});
    }
  }
  void write_length(size_t length, LengthForm form) {
    if (length >= INT32_MAX) fail("a length does not fit the protocol");
    if (form == LengthForm::compact) {
      write_compact_length(length);
    } else {
      self().put_int(static_cast<int32_t>(length));
    }
  }
  void write_compact_length(size_t length) { self().put_uvarint(static_cast<uint32_t>(length) + 1); }

  bool text_was_cut_ = false;
  const char* failure_ = nullptr;
};

// Bytes that belong into the output at this position, but are sent from elsewhere.
struct Splice {
  size_t position = 0;
  ExternalRecords records;

  bool operator==(const Splice&) const = default;
};

// Appends to a buffer, which has to outlive the writer. Not thread-safe.
class WireWriter : public WireSink<WireWriter> {
 public:
  explicit WireWriter(Bytes& to) : bytes_(to) {}

  // Where external records belong, in ascending order. Their bytes are counted by lengths, and are not in the buffer.
  const std::vector<Splice>& splices() const { return splices_; }
  std::vector<Splice> take_splices() { return std::move(splices_); }

  template <std::integral T>
  void put_int(T value) {
    bytes_.write_int(value);
  }
  void put_uvarint(uint32_t value) { bytes_.write_uvarint(value); }
  void put_bytes(BytesView bytes) { bytes_.write_bytes(bytes); }
  void put_external(const ExternalRecords& records) { splices_.push_back({bytes_.size(), records}); }

 private:
  ByteWriter bytes_;
  std::vector<Splice> splices_;
};

// Counts what a WireWriter would write, external records included.
class WireSizer : public WireSink<WireSizer> {
 public:
  size_t size() const { return size_; }

  template <std::integral T>
  void put_int(T) {
    size_ += sizeof(T);
  }
  void put_uvarint(uint32_t value) { size_ += uvarint_size(value); }
  void put_bytes(BytesView bytes) { size_ += bytes.size(); }
  void put_external(const ExternalRecords& records) { size_ += records.size; }

 private:
  size_t size_ = 0;
};

template <class Derived>
template <class WriteField>
void WireSink<Derived>::write_tagged(uint32_t tag, WriteField write_field) {
  WireSizer sizer;
  write_field(sizer);
  self().put_uvarint(tag);
  self().put_uvarint(static_cast<uint32_t>(sizer.size()));
  write_field(self());
}

}  // namespace naru::kafka
