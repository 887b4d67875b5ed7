// What one request asks of its caller's quotas: charged once, when the response is encoded or, where there
// is no response, by the dispatcher.
#pragma once

#include <cstdint>
#include <optional>

#include "access/quotas.h"

namespace naru {

// Lives as long as the request. Not thread-safe: a request is in one place at a time.
class Quota {
 public:
  Quota(Quotas& quotas, const Caller& caller, QuotaUse use) : quotas_(quotas), caller_(caller), use_(use) {}

  // Between brokers there are no quotas.
  void exempt() { delay_ = Milliseconds(0); }

  // How long the connection is not read from after this request. `fetched` is what its response carries in records.
  Milliseconds charge(uint64_t fetched = 0) {
    if (!delay_) {
      if (use_.kind == QuotaKind::fetch) use_.bytes = fetched;
      delay_ = quotas_.charge(caller_, use_);
    }
    return *delay_;
  }

 private:
  Quotas& quotas_;
  const Caller& caller_;
  QuotaUse use_;
  std::optional<Milliseconds> delay_;
};

}  // namespace naru
