// Plants the bugs of foundation/request_canary.h. For tests alone.
#pragma once

#include <array>
#include <string_view>

#include "foundation/request_canary.h"

namespace naru {

struct RequestCanaryName {
  RequestCanary canary;
  std::string_view name;
};

inline constexpr std::array kRequestCanaries = {
    RequestCanaryName{RequestCanary::negative_epoch_looked_up, "negative_epoch_looked_up"},
    RequestCanaryName{RequestCanary::null_name_in_old_version, "null_name_in_old_version"},
    RequestCanaryName{RequestCanary::session_forgets_by_walk, "session_forgets_by_walk"},
    RequestCanaryName{RequestCanary::producer_ids_by_walk, "producer_ids_by_walk"},
    RequestCanaryName{RequestCanary::work_in_one_turn, "work_in_one_turn"},
    RequestCanaryName{RequestCanary::unlimited_pinned_files, "unlimited_pinned_files"},
    RequestCanaryName{RequestCanary::unlimited_deletions, "unlimited_deletions"},
    RequestCanaryName{RequestCanary::unpaid_arrays, "unpaid_arrays"},
    RequestCanaryName{RequestCanary::unlimited_state, "unlimited_state"},
    RequestCanaryName{RequestCanary::groups_in_one_step, "groups_in_one_step"},
    RequestCanaryName{RequestCanary::unpaid_offsets, "unpaid_offsets"},
    RequestCanaryName{RequestCanary::long_steps_on_loops, "long_steps_on_loops"},
    RequestCanaryName{RequestCanary::offsets_in_one_step, "offsets_in_one_step"},
};

// Until the process ends.
inline void plant(RequestCanary canary) {
  request_canary_detail::planted.store(canary, std::memory_order_relaxed);
}

}  // namespace naru
