// Known bugs that can be planted, so that it is shown again and again that the simulator would find them.
//
// Each is the absence of one rule that keeps data safe. All are off: nothing but foundation/canary_testing.h turns one
// on, which only tests may include (tools/check_layers.py).
#pragma once

#include <atomic>
#include <cstdint>

namespace naru {

enum class Canary : uint8_t {
  none,
  ack_before_sync,             // flush.messages=1 counts what is in the log, synced or not
  isr_by_log_end,              // a follower joins the ISR with what it has not synced
  isr_ignores_broker_epoch,    // the controller lets an earlier life of a broker into the ISR
  committed_isr_only,          // the high watermark does not wait for members that are proposed
  unchecked_leader_epoch,      // a leader answers whoever asks for another epoch
  no_divergence_check,         // followers append behind records that the leader does not have
  truncate_to_high_watermark,  // who begins to follow forgets what it does not know to be committed
  read_uncommitted,            // consumers read up to the log's end
  latest_before_known,         // a new leader tells where the log ends before it knows what is committed
  load_before_known,           // ... and loads coordinators from it
  failed_write_kept,           // a coordinator goes on with what it could not write
  early_coordinator_reply,     // a group is told that its offsets are committed before they are
  duplicates_stored,           // a batch that a producer repeats is stored again
  elects_outside_isr,          // any replica may lead
  wiped_broker_stays,          // a broker that lost its disk stays in the ISR
  unclean_broker_stays,        // so does one that may have lost what nobody had synced
  epoch_survives_crash,        // a leader that may have lost the end of its log goes on in its epoch
  uncompared_controller,       // transactions do not compare what the controller has read
  markers_before_prepare,      // a transaction's markers are written before it is committed that it ends
  lso_is_high_watermark,       // readers of committed records do not wait for the ends of transactions
  unverified_batches,          // a batch opens a transaction, whatever the coordinator says
  late_requests_taken,         // the coordinator obeys what was sent on a connection that the producer has left
};

namespace canary_detail {
inline constinit std::atomic<Canary> planted{Canary::none};
}

inline bool is_planted(Canary canary) {
  return canary_detail::planted.load(std::memory_order_relaxed) == canary;
}

}  // namespace naru
