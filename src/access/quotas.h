// How long a caller has to wait because it is over its quota. Asked once for each request, before the response is
// encoded, so that the response can tell; the connection then reads nothing for as long.
#pragma once

#include <cstdint>
#include <string_view>

#include "access/caller.h"
#include "foundation/time.h"

namespace naru {

// What a quota counts: bytes of produced records, bytes of fetched records, or requests.
enum class QuotaKind : uint8_t { produce, fetch, request };

struct QuotaUse {
  QuotaKind kind = QuotaKind::request;
  std::string_view client_id;  // empty: none
  uint64_t bytes = 0;          // of the request for `produce`, of the records in the response for `fetch`
};

// Thread-safe.
class Quotas {
 public:
  virtual ~Quotas() = default;
  virtual Milliseconds charge(const Caller& caller, const QuotaUse& use) = 0;
};

class Unlimited final : public Quotas {
 public:
  Milliseconds charge(const Caller&, const QuotaUse&) override { return Milliseconds(0); }
};

}  // namespace naru
