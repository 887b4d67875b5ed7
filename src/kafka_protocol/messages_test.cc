// What has to hold for every message of schemas/kafka, schemas/internal and codegen/toy_schemas in every version.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "internal_records/random_messages.h"
#include "kafka_protocol/messages/random_messages.h"
#include "kafka_protocol/wire_reader.h"
#include "kafka_protocol/wire_writer.h"
#include "toy_records/random_messages.h"

namespace {
size_t allocated_bytes = 0;
}

// Counted, so that a test can say how much memory a decoder asked for.
void* operator new(size_t size) {
  allocated_bytes += size;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace naru::kafka {
namespace {

// Any message behind one interface, so that the tests are compiled once and not once per type.
class AnyMessage {
 public:
  virtual ~AnyMessage() = default;
  virtual std::unique_ptr<AnyMessage> fresh() const = 0;
  virtual void fill(RandomValues& random, int16_t version) = 0;
  virtual void write(WireWriter& writer, int16_t version) const = 0;
  virtual void read(WireReader& reader, int16_t version) = 0;
  virtual size_t size(int16_t version) const = 0;
  virtual std::string show(int16_t version) const = 0;
  virtual bool equals(const AnyMessage& other) const = 0;

  std::string_view name;
  int16_t min_version = 0;
  int16_t max_version = 0;
  int16_t first_flexible_version = 0;
};

template <class Message>
class TypedMessage final : public AnyMessage {
 public:
  TypedMessage() {
    name = Message::kName;
    min_version = Message::kMinVersion;
    max_version = Message::kMaxVersion;
    first_flexible_version = Message::kFirstFlexibleVersion;
  }
  std::unique_ptr<AnyMessage> fresh() const override { return std::make_unique<TypedMessage>(); }
  void fill(RandomValues& random, int16_t version) override { randomize(random, message_, version); }
  void write(WireWriter& writer, int16_t version) const override { encode(writer, message_, version); }
  void read(WireReader& reader, int16_t version) override { decode(reader, message_, version); }
  size_t size(int16_t version) const override { return encoded_size(message_, version); }
  std::string show(int16_t version) const override { return to_json(message_, version); }
  bool equals(const AnyMessage& other) const override {
    return message_ == static_cast<const TypedMessage&>(other).message_;
  }

 private:
  Message message_;
};

using MessageList = std::vector<std::shared_ptr<const AnyMessage>>;
template <class... Messages>
struct MakeMessages {
  static MessageList make() { return {std::make_shared<TypedMessage<Messages>>()...}; }
};

void PrintTo(const std::shared_ptr<const AnyMessage>& message, std::ostream* out) {
  *out << message->name;
}

class EveryMessage : public testing::TestWithParam<std::shared_ptr<const AnyMessage>> {
 public:
  const AnyMessage& type() const { return *GetParam(); }

  // check(message, version, its encoding) in every version; the first message has all defaults.
  template <class Check>
  void for_random_messages(uint64_t seeds, Check check) {
    for (int16_t version = type().min_version; version <= type().max_version; ++version) {
      for (uint64_t seed = 0; seed < seeds; ++seed) {
        SCOPED_TRACE(testing::Message() << "version " << version << ", seed " << seed);
        RandomValues random(seed);
        const std::unique_ptr<AnyMessage> message = type().fresh();
        if (seed > 0) message->fill(random, version);
        check(*message, version, encoded(*message, version));
        if (HasFailure()) return;
      }
    }
  }

  // Decodes default messages whose own tag buffer, at the end of the encoding and otherwise a zero, is replaced.
  template <class Check>
  void for_flexible_versions(std::string_view tag_buffer, Check check) {
    for (int version = type().first_flexible_version; version <= type().max_version; ++version) {
      SCOPED_TRACE(testing::Message() << "version " << version);
      const auto at = static_cast<int16_t>(std::max<int>(version, type().min_version));
      const std::unique_ptr<AnyMessage> decoded = type().fresh();
      Bytes bytes = encoded(*decoded, at);
      EXPECT_EQ(bytes.back(), std::byte{0});
      bytes.pop_back();
      append_bytes(bytes, as_bytes(tag_buffer));
      WireReader reader(bytes, type().name, at);
      decoded->read(reader, at);
      check(*decoded, reader.finish());
    }
  }

  static Bytes encoded(const AnyMessage& message, int16_t version) {
    Bytes bytes;
    WireWriter writer(bytes);
    message.write(writer, version);
    return bytes;
  }
};

TEST_P(EveryMessage, DecodesToWhatWasEncodedAndItsSizeIsKnownBefore) {
  for_random_messages(50, [&](const AnyMessage& message, int16_t version, const Bytes& bytes) {
    EXPECT_EQ(message.size(version), bytes.size());
    WireReader reader(bytes, type().name, version);
    const std::unique_ptr<AnyMessage> decoded = type().fresh();
    decoded->read(reader, version);
    EXPECT_TRUE(reader.finish().ok()) << reader.status().to_string();
    EXPECT_TRUE(decoded->equals(message)) << decoded->show(version) << "\n" << message.show(version);
  });
}

TEST_P(EveryMessage, ForgetsWhatWasInItBeforeDecoding) {
  for_random_messages(2, [&](const AnyMessage& message, int16_t version, const Bytes& bytes) {
    RandomValues random(99);
    const std::unique_ptr<AnyMessage> used = type().fresh();
    used->fill(random, type().max_version);
    WireReader reader(bytes, type().name, version);
    used->read(reader, version);
    EXPECT_TRUE(used->equals(message)) << used->show(version) << "\n" << message.show(version);
  });
}

TEST_P(EveryMessage, IsRefusedWhenAnyNumberOfBytesIsMissing) {
  for_random_messages(5, [&](const AnyMessage&, int16_t version, const Bytes& bytes) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      // An exact copy, so that the address sanitizer sees a read beyond the end.
      const Bytes prefix(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
      WireReader reader(prefix, type().name, version);
      type().fresh()->read(reader, version);
      EXPECT_EQ(reader.status(), ErrorCode::malformed_request) << size << " of " << bytes.size() << " bytes";
    }
  });
}

TEST_P(EveryMessage, TakesNoMoreMemoryThanItsBytesJustifyWhateverTheySay) {
  // The largest element in memory divided by its smallest encoding is below this.
  constexpr size_t kMemoryPerByte = 64;
  for_random_messages(5, [&](const AnyMessage&, int16_t version, const Bytes& bytes) {
    // Lengths as int32 and as uvarint, far too large and just so.
    for (const std::string_view lie : {"\x7f\xff\xff\xff", "\xff\xff\xff\xff\x07", "\x7f"}) {
      for (size_t at = 0; at + lie.size() <= bytes.size(); ++at) {
        Bytes lying = bytes;
        std::ranges::copy(as_bytes(lie), lying.begin() + static_cast<ptrdiff_t>(at));
        const std::unique_ptr<AnyMessage> decoded = type().fresh();
        const size_t before = allocated_bytes;
        WireReader reader(lying, type().name, version);
        decoded->read(reader, version);
        EXPECT_LE(allocated_bytes - before, lying.size() * kMemoryPerByte) << "lie at byte " << at;
      }
    }
  });
}

TEST_P(EveryMessage, SkipsTagsOfTheFuture) {
  for_flexible_versions("\x02\x7e\x03new\x7f\x01!", [&](const AnyMessage& decoded, const Status& status) {
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_TRUE(decoded.equals(*type().fresh()));
  });
}

TEST_P(EveryMessage, RefusesTagsThatDoNotAscendOrReachBeyondTheEnd) {
  for (const std::string_view wrong : {"\x02\x7f\x03new\x7f\x01!", "\x02\x7f\x03new\x7e\x01!", "\x01\x7f\x04new"}) {
    for_flexible_versions(
        wrong, [](const AnyMessage&, const Status& status) { EXPECT_EQ(status, ErrorCode::malformed_request); });
  }
}

bool brackets_match(std::string_view json) {
  std::string open;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') in_string = !in_string;
    if (in_string && json[i] == '\\') ++i;
    if (in_string) continue;
    if (json[i] == '{' || json[i] == '[') open.push_back(json[i]);
    if (json[i] != '}' && json[i] != ']') continue;
    if (open.empty() || open.back() != (json[i] == '}' ? '{' : '[')) return false;
    open.pop_back();
  }
  return open.empty() && !in_string;
}

TEST_P(EveryMessage, CanBeShown) {
  for_random_messages(5, [](const AnyMessage& message, int16_t version, const Bytes&) {
    const std::string json = message.show(version);
    EXPECT_EQ(json.front(), '{');
    EXPECT_EQ(json.back(), '}');
    EXPECT_TRUE(brackets_match(json)) << json;
  });
}

std::string test_name(const testing::TestParamInfo<std::shared_ptr<const AnyMessage>>& info) {
  return std::string(info.param->name);
}
INSTANTIATE_TEST_SUITE_P(Kafka, EveryMessage, testing::ValuesIn(AllMessages<MakeMessages>::make()), test_name);
INSTANTIATE_TEST_SUITE_P(Internal, EveryMessage, testing::ValuesIn(internal::AllMessages<MakeMessages>::make()),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Toy, EveryMessage, testing::ValuesIn(toy::AllMessages<MakeMessages>::make()), test_name);

}  // namespace
}  // namespace naru::kafka
