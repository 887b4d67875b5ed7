#include "broker/decoded_memory.h"

#include <gtest/gtest.h>

#include "broker/reply.h"
#include "kafka_protocol/frame.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/produce_request.h"

namespace naru {
namespace {

constexpr int16_t kVersion = 9;

Bytes produce_of(size_t partitions) {
  kafka::ProduceRequest request;
  auto& topic = request.topic_data.emplace_back();
  topic.name = "t";
  topic.partition_data.resize(partitions);
  Bytes bytes;
  kafka::WireWriter writer(bytes);
  encode(writer, request, kVersion);
  return bytes;
}

Status decode_with(DecodedMemory& memory, BytesView bytes) {
  kafka::WireReader reader(bytes);
  reader.pay_for_arrays_from(memory);
  kafka::ProduceRequest request;
  decode(reader, request, kVersion);
  return reader.status();
}

TEST(DecodedMemory, OfALargeRequestIsPaidForUntilItIsAnswered) {
  MemoryBudget budget(16 << 20);
  {
    DecodedMemory memory(budget, 10);
    EXPECT_TRUE(decode_with(memory, produce_of(5000)).ok());
    EXPECT_GE(budget.used(MemoryAccount::decoded_requests) + DecodedMemory::kFreeBytes,
              5000 * 10 * sizeof(kafka::ProduceRequest::PartitionProduceData));
    memory.release();
    EXPECT_EQ(budget.used(), 0u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(DecodedMemory, AFewElementsCostNothing) {
  MemoryBudget budget(0);
  DecodedMemory memory(budget, 10);
  EXPECT_TRUE(decode_with(memory, produce_of(10)).ok());
}

TEST(DecodedMemory, WithoutRoomTheRequestIsNotDecoded) {
  MemoryBudget budget(1 << 20);
  DecodedMemory memory(budget, 10);
  EXPECT_EQ(decode_with(memory, produce_of(100'000)), ErrorCode::out_of_memory_budget);
  DecodedMemory answer(budget, 1);
  EXPECT_TRUE(answer.take_for_answer(100'000));
  EXPECT_FALSE(answer.take_for_answer(1 << 20));
}

TEST(Reply, ThatCannotBeEncodedClosesItsConnection) {
  kafka::MetadataResponse response;
  response.topics.emplace_back().name.reset();
  const Response closed = assemble_response(kafka::encode_response_frame(response, 11, 1), {});
  EXPECT_TRUE(closed.chunks.empty());
  EXPECT_EQ(closed.close_as, ConnectionEnd::no_answer);
  EXPECT_EQ(closed.close_reason, "its answer cannot be encoded: a field is null in a version that does not allow it");
  EXPECT_FALSE(assemble_response(kafka::encode_response_frame(response, 12, 1), {}).close_reason);
}

TEST(Reply, WithRecordsOfAnotherSizeThanAnnouncedClosesItsConnection) {
  kafka::EncodedFrame frame;
  frame.bytes = Bytes(10);
  frame.splices = {{.position = 4, .records = {.id = 0, .size = 7}}};
  EXPECT_EQ(assemble_response(frame, {Bytes(7)}).chunks.size(), 3u);
  EXPECT_EQ(assemble_response(frame, {Bytes(6)}).close_as, ConnectionEnd::no_answer);
}

}  // namespace
}  // namespace naru
