// Plants the bugs of foundation/canary.h. For tests alone.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "foundation/canary.h"

namespace naru {

struct CanaryName {
  Canary canary;
  std::string_view name;
};

inline constexpr std::array kCanaries = {
    CanaryName{Canary::ack_before_sync, "ack_before_sync"},
    CanaryName{Canary::isr_by_log_end, "isr_by_log_end"},
    CanaryName{Canary::isr_ignores_broker_epoch, "isr_ignores_broker_epoch"},
    CanaryName{Canary::committed_isr_only, "committed_isr_only"},
    CanaryName{Canary::unchecked_leader_epoch, "unchecked_leader_epoch"},
    CanaryName{Canary::no_divergence_check, "no_divergence_check"},
    CanaryName{Canary::truncate_to_high_watermark, "truncate_to_high_watermark"},
    CanaryName{Canary::read_uncommitted, "read_uncommitted"},
    CanaryName{Canary::latest_before_known, "latest_before_known"},
    CanaryName{Canary::load_before_known, "load_before_known"},
    CanaryName{Canary::failed_write_kept, "failed_write_kept"},
    CanaryName{Canary::early_coordinator_reply, "early_coordinator_reply"},
    CanaryName{Canary::duplicates_stored, "duplicates_stored"},
    CanaryName{Canary::elects_outside_isr, "elects_outside_isr"},
    CanaryName{Canary::wiped_broker_stays, "wiped_broker_stays"},
    CanaryName{Canary::unclean_broker_stays, "unclean_broker_stays"},
    CanaryName{Canary::epoch_survives_crash, "epoch_survives_crash"},
    CanaryName{Canary::uncompared_controller, "uncompared_controller"},
    CanaryName{Canary::markers_before_prepare, "markers_before_prepare"},
    CanaryName{Canary::lso_is_high_watermark, "lso_is_high_watermark"},
    CanaryName{Canary::unverified_batches, "unverified_batches"},
    CanaryName{Canary::late_requests_taken, "late_requests_taken"},
};

// For as long as it lives.
class PlantedCanary {
 public:
  explicit PlantedCanary(Canary canary) : before_(canary_detail::planted.exchange(canary, std::memory_order_relaxed)) {}
  ~PlantedCanary() { canary_detail::planted.store(before_, std::memory_order_relaxed); }
  PlantedCanary(const PlantedCanary&) = delete;
  PlantedCanary& operator=(const PlantedCanary&) = delete;

 private:
  const Canary before_;
};

}  // namespace naru
