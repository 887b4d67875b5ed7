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
  stale_positions_told,        // a coordinator that was replaced a moment ago tells committed offsets
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
  producers_by_wall_clock,     // producers are forgotten when the wall clock says that a day is over
  new_producer_may_skip,       // the second batch of a new producer is taken although the first was refused
  restart_forgets_producers,   // a follower that begins anew does not ask what its leader knows of producers
  older_copy_counts,           // a broker whose data folder was restored from an older copy stays in the ISR
  lost_folder_begins_empty,    // a partition whose folder is gone begins empty, as a new one does
  shorter_log_counts,          // a log that ends before what was known to be durable is used
  isr_ignores_epoch_start,     // a follower joins the ISR without what may have been promised before the election
  reload_before_committed,     // a coordinator begins anew without what it has written and is not committed yet
  earlier_life_fetches,        // a leader counts what an earlier incarnation of a follower had
  stale_coordinator_writes,    // a coordinator writes in a later leader epoch than the one it was loaded in
  silence_is_refused,          // no answer from the controller is taken for a refusal
  unclear_is_refused,          // so is an error after which the change may have been committed
  roles_before_settled,        // a broker leads and follows before the controller has seen its return
  opened_before_settled,       // so do partitions that are opened meanwhile
  journal_replayed_early,      // journaled batches count as replayed before their log is open
  clean_mark_unopened,         // a clean shutdown is marked although a log was never opened
  compacts_unsynced,           // compaction removes a record for the sake of one that is not synced
  producers_below_start,       // recovery forgets producers of segments below the start of the log
  removed_below_start,         // ... or removes these segments before what they tell is stored
  journal_void_below_start,    // ... or does not look into the journal for what they have lost
  epoch_end_before_known,      // a new leader tells where epochs end before it knows what is committed
  divergence_by_offset,        // followers keep records of an epoch that the leader does not have
  stale_partition_epoch,       // the controller takes an ISR change that was proposed for an earlier ISR
  version_1_guard_kept,        // a batch that was verified before the end of its transaction opens the next one
  lso_off_by_one,              // readers of committed records get the first record of an open transaction
  silent_committed_isr,        // a leader without contact ignores proposed members when it asks who may lead instead
  late_fetch_is_contact,       // ... or takes the time at which a fetch arrives for one at which it is followed
  contact_before_roles,     // ... or contact by which it has learned that it is replaced, and not yet given up its role
  late_follower_continues,  // a follower goes on behind delete markers that its leader has dropped
  horizon_not_stored,       // delete markers are dropped before it is durable that they are missing
  damage_cut_unasked,       // damage is cut off before another in-sync replica leads
  reopened_unreported,      // a leader's log is opened again before the controller has heard that it was offline
};

namespace canary_detail {
inline constinit std::atomic<Canary> planted{Canary::none};
}

inline bool is_planted(Canary canary) {
  return canary_detail::planted.load(std::memory_order_relaxed) == canary;
}

}  // namespace naru
