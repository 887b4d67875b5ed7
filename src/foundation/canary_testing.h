// Plants the bugs of foundation/canary.h. For tests alone.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "foundation/canary.h"

namespace naru {

// What finds it within the first 600 seeds: clusters, a single broker, or only the unit test that names it,
// where other rules keep the harm away or no seed has all that the harm needs.
enum class CanaryFinder : uint8_t { clusters, single_brokers, unit_test };

struct CanaryName {
  Canary canary;
  std::string_view name;
  CanaryFinder finder = CanaryFinder::clusters;
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
    // A group has to be asked in the seconds in which a coordinator does not know yet that it was replaced.
    CanaryName{Canary::stale_positions_told, "stale_positions_told", CanaryFinder::unit_test},
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
    CanaryName{Canary::isr_ignores_epoch_start, "isr_ignores_epoch_start"},
    CanaryName{Canary::reload_before_committed, "reload_before_committed"},
    CanaryName{Canary::earlier_life_fetches, "earlier_life_fetches"},
    CanaryName{Canary::stale_coordinator_writes, "stale_coordinator_writes"},
    CanaryName{Canary::silence_is_refused, "silence_is_refused"},
    CanaryName{Canary::unclear_is_refused, "unclear_is_refused"},
    CanaryName{Canary::roles_before_settled, "roles_before_settled"},
    CanaryName{Canary::opened_before_settled, "opened_before_settled"},
    CanaryName{Canary::journal_replayed_early, "journal_replayed_early", CanaryFinder::single_brokers},
    CanaryName{Canary::clean_mark_unopened, "clean_mark_unopened", CanaryFinder::single_brokers},
    CanaryName{Canary::compacts_unsynced, "compacts_unsynced", CanaryFinder::single_brokers},
    CanaryName{Canary::producers_below_start, "producers_below_start", CanaryFinder::single_brokers},
    // Within 600 seeds, too, but late: log_producers_test.cc is cheaper.
    CanaryName{Canary::removed_below_start, "removed_below_start", CanaryFinder::unit_test},
    CanaryName{Canary::journal_void_below_start, "journal_void_below_start", CanaryFinder::unit_test},
    CanaryName{Canary::epoch_end_before_known, "epoch_end_before_known"},
    CanaryName{Canary::divergence_by_offset, "divergence_by_offset"},
    CanaryName{Canary::stale_partition_epoch, "stale_partition_epoch"},
    CanaryName{Canary::version_1_guard_kept, "version_1_guard_kept"},
    CanaryName{Canary::lso_off_by_one, "lso_off_by_one"},
    // Within 600 seeds, too, but late: lost_folder_test.cc is cheaper.
    CanaryName{Canary::older_copy_counts, "older_copy_counts", CanaryFinder::unit_test},
    CanaryName{Canary::lost_folder_begins_empty, "lost_folder_begins_empty", CanaryFinder::unit_test},
    // A snapshot has to be older than what was noted, and the broker has to come back before another one leads.
    CanaryName{Canary::shorter_log_counts, "shorter_log_counts", CanaryFinder::unit_test},
    // What the others have is mostly enough: bit_flips_test.cc has the case in which it is not.
    CanaryName{Canary::damage_cut_unasked, "damage_cut_unasked", CanaryFinder::unit_test},
    CanaryName{Canary::silent_committed_isr, "silent_committed_isr"},
    CanaryName{Canary::contact_before_roles, "contact_before_roles"},
    CanaryName{Canary::late_follower_continues, "late_follower_continues"},
    CanaryName{Canary::horizon_not_stored, "horizon_not_stored", CanaryFinder::unit_test},
    // No run lasts for a day, or has what else they need.
    CanaryName{Canary::producers_by_wall_clock, "producers_by_wall_clock", CanaryFinder::unit_test},
    CanaryName{Canary::new_producer_may_skip, "new_producer_may_skip", CanaryFinder::unit_test},
    CanaryName{Canary::restart_forgets_producers, "restart_forgets_producers", CanaryFinder::unit_test},
    CanaryName{Canary::late_fetch_is_contact, "late_fetch_is_contact", CanaryFinder::unit_test},
    CanaryName{Canary::reopened_unreported, "reopened_unreported", CanaryFinder::unit_test},
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
