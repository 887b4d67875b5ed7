// Decodes the primitive forms of the Kafka protocol from untrusted bytes; the generated decode() functions call it.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/byte_reader.h"
#include "foundation/bytes.h"
#include "foundation/error_code.h"
#include "foundation/status.h"
#include "foundation/strong_int.h"
#include "foundation/uuid.h"
#include "kafka_protocol/records.h"
#include "kafka_protocol/wire_form.h"

namespace naru::kafka {

// Memory that the arrays of one decoded message may take. An array element can be twenty times larger in memory than on
// the wire, so the size of the frame alone does not bound it.
inline constexpr size_t kDecodedArrayBytesMax = size_t{64} * 1024 * 1024;

// Asked before the arrays of a message take memory.
class ArrayMemory {
 public:
  // False: there is none; the message is not decoded.
  virtual bool take(size_t bytes) = 0;

 protected:
  ~ArrayMemory() = default;
};

// What a wire code means here: UNKNOWN_SERVER_ERROR for a code that Kafka may know and we do not.
ErrorCode error_code_from_wire(int16_t code);

// The first error sticks: after it every read yields zero or empty, and status() or finish() is asked once at the end.
// Decoded views point into the bytes, which have to outlive them. Not thread-safe.
class WireReader {
 public:
  // The name, for errors, has to outlive the reader.
  explicit WireReader(BytesView bytes, std::string_view message_name = "frame", int16_t version = 0)
      : bytes_(bytes), message_name_(message_name), version_(version) {}

  // What the following bytes are, once it is known.
  void enter_message(std::string_view message_name, int16_t version) {
    message_name_ = message_name;
    version_ = version;
  }

  // `memory` outlives the decoding; without it only kDecodedArrayBytesMax counts.
  void pay_for_arrays_from(ArrayMemory& memory) { memory_ = &memory; }

  bool ok() const { return bytes_.ok(); }
  size_t position() const { return bytes_.position(); }
  size_t remaining() const { return bytes_.remaining(); }
  void fail(const char* reason) { bytes_.fail(reason); }
  // MALFORMED_REQUEST with the message, its version, the position and the reason of the first error;
  // out_of_memory_budget where there was no memory for its arrays.
  Status status() const;
  // The same, and an error when bytes are left over.
  Status finish();

  // Wire is the integer type in the schema; the field may be a strong integer or an ErrorCode of the same size.
  template <std::integral Wire>
  void read(Wire& out) {
    out = bytes_.read_int<Wire>();
  }
  template <std::integral Wire, class Tag>
  void read(StrongInt<Tag, Wire>& out) {
    out = StrongInt<Tag, Wire>(bytes_.read_int<Wire>());
  }
  template <std::same_as<int16_t> Wire>
  void read(ErrorCode& out) {
    out = error_code_from_wire(bytes_.read_int<int16_t>());
  }
  void read_bool(bool& out) { out = bytes_.read_int<int8_t>() != 0; }
  void read_float64(double& out);
  void read_uuid(Uuid& out) {
    out.high = bytes_.read_int<uint64_t>();
    out.low = bytes_.read_int<uint64_t>();
  }
  uint32_t read_uvarint() { return bytes_.read_uvarint(); }

  // Text is std::string, or std::string_view into the bytes.
  template <class Text>
  void read_string(Text& out, LengthForm form) {
    out = as_text(read_required(read_string_bytes(form)));
  }
  template <class Text>
  void read_nullable_string(std::optional<Text>& out, LengthForm form, bool nullable) {
    const std::optional<BytesView> bytes = check_null(read_string_bytes(form), nullable);
    if (bytes) {
      out.emplace(as_text(*bytes));
    } else {
      out.reset();
    }
  }

  // Data is Bytes, or BytesView into the bytes.
  template <class Data>
  void read_bytes(Data& out, LengthForm form) {
    const BytesView bytes = read_required(read_sized_bytes(form));
    out = Data(bytes.begin(), bytes.end());
  }
  template <class Data>
  void read_nullable_bytes(std::optional<Data>& out, LengthForm form, bool nullable) {
    const std::optional<BytesView> bytes = check_null(read_sized_bytes(form), nullable);
    if (bytes) {
      out.emplace(bytes->begin(), bytes->end());
    } else {
      out.reset();
    }
  }
  void read_records(Records& out, LengthForm form, bool nullable);

  // element_size_min is the smallest encoding of one element: a count that the remaining bytes cannot hold is refused
  // before anything is allocated.
  template <class Element, class ReadElement>
  void read_array(std::vector<Element>& out, LengthForm form, size_t element_size_min, ReadElement read_element) {
    read_elements(out, required_count(read_array_count(form)), element_size_min, read_element);
  }
  template <class Element, class ReadElement>
  void read_nullable_array(std::optional<std::vector<Element>>& out, LengthForm form, bool nullable,
                           size_t element_size_min, ReadElement read_element) {
    const int64_t count = read_array_count(form);
    if (count == kNull && nullable) {
      out.reset();
      return;
    }
    read_elements(out.emplace(), required_count(count), element_size_min, read_element);
  }

  template <class Struct, class ReadStruct>
  void read_nullable_struct(std::optional<Struct>& out, bool nullable, ReadStruct read_struct) {
    const bool present = bytes_.read_int<int8_t>() >= 0;
    if (!present && !nullable) fail(kUnexpectedNull);
    if (present && ok()) {
      read_struct(out.emplace());
    } else {
      out.reset();
    }
  }

  // read_field(tag) reads the field and returns true, or returns false to have it skipped.
  template <class ReadField>
  void read_tag_buffer(ReadField read_field) {
    const uint32_t count = bytes_.read_uvarint();
    int64_t previous_tag = -1;
    for (uint32_t i = 0; i < count && ok(); ++i) {
      const uint32_t tag = bytes_.read_uvarint();
      const uint32_t size = bytes_.read_uvarint();
      if (!check_tag(tag, previous_tag, size)) return;
      previous_tag = tag;
      const size_t begin = position();
      if (!read_field(tag)) {
        bytes_.read_bytes(size);
      } else if (ok() && position() - begin != size) {
        fail("tagged field is not of its stated size");
      }
    }
  }
  void skip_tag_buffer() {
    read_tag_buffer([](uint32_t) { return false; });
  }

 private:
  static constexpr int64_t kNull = -1;
  static constexpr const char* kUnexpectedNull = "null is not allowed here";

  std::optional<BytesView> read_string_bytes(LengthForm form);
  std::optional<BytesView> read_sized_bytes(LengthForm form);
  std::optional<BytesView> check_null(std::optional<BytesView> bytes, bool nullable);
  BytesView read_required(std::optional<BytesView> bytes) { return check_null(bytes, false).value_or(BytesView()); }
  // kNull for null.
  int64_t read_array_count(LengthForm form);
  size_t required_count(int64_t count);
  bool reserve_elements(size_t count, size_t element_size_min, size_t element_size_in_memory);
  bool check_tag(uint32_t tag, int64_t previous_tag, uint32_t size);

  template <class Element, class ReadElement>
  void read_elements(std::vector<Element>& out, size_t count, size_t element_size_min, ReadElement& read_element) {
    out.clear();
    if (!reserve_elements(count, element_size_min, sizeof(Element))) return;
    out.resize(count);
    for (Element& element : out) {
      if (!ok()) return;
      read_element(element);
    }
  }

  ByteReader bytes_;
  std::string_view message_name_;
  int16_t version_;
  size_t array_bytes_ = 0;
  ArrayMemory* memory_ = nullptr;
  bool out_of_memory_ = false;
};

}  // namespace naru::kafka
