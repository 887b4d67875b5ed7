#include "client/fetched_records.h"

#include "foundation/assert.h"

// Whatever a broker sends: no crash, and the position never goes back.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const naru::BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  const naru::Offset from(3);
  const auto next = naru::client::visit_records(bytes, from, [](const naru::RecordView& record) {
    auto headers = record.headers();
    while (headers.next()) {
    }
    return true;
  });
  NARU_ASSERT(!next || *next >= from, "the position went back");
  return 0;
}
