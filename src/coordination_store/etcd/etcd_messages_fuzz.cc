// Answers of etcd, which may be anything.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "coordination_store/etcd/etcd_messages.h"
#include "foundation/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace naru;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto listing = parse_etcd_listing(body)) {
    for (const KeyValue& value : listing->values) NARU_ASSERT(value.version > 0, "a key without a version");
  }
  if (const auto outcome = parse_etcd_outcome(body)) NARU_ASSERT(outcome->revision > 0, "no revision");
  static_cast<void>(parse_etcd_grant(body));
  static_cast<void>(parse_etcd_keepalive(body));
  static_cast<void>(etcd_watch_is_over(body));
  NARU_ASSERT(!parse_etcd_refusal(500, body).status.ok(), "a refusal that is none");
  return 0;
}
