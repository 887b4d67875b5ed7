// Runs planners on the coordination store for the controller in office, one transaction at a time, and shows what came
// of it. Whoever wants it to be in effect on this broker waits for that himself: the next planner does not, because
// elections must not wait for this broker's disk.
//
// Planners take turns, so that a large one does not keep the others waiting. A transaction that meets a conflict, or
// whose outcome is unknown, is planned again on metadata that was read again. When the store has another controller's
// epoch, the office is lost, and everything answers not_controller until it is taken again.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "async/task.h"
#include "cluster_control/controller_start.h"
#include "cluster_control/metadata_feed.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/planner.h"
#include "cluster_control/stored_image.h"
#include "cluster_control/turnstile.h"
#include "coordination_store/coordination_store.h"
#include "foundation/shared_cell.h"
#include "observability/metrics_registry.h"
#include "platform/clock.h"
#include "platform/scheduler.h"

namespace naru {

// Thread-safe. Everything it is made of outlives it, and it outlives its tasks.
class PlannerRunner {
 public:
  struct Parts {
    MetadataPublisher& publisher;
    MetadataFeed& feed;
    const Clock& clock;
    Scheduler& scheduler;
    Counter& fenced;  // transactions that came to nothing because the office had ended
  };
  explicit PlannerRunner(Parts parts);

  // Runs all steps, or abandons the planner: not_controller, unavailable (outcome unknown), request_timed_out when too
  // many wait already.
  Task<void> run(Planner& planner);

  // Another session of the coordination service. Ends the office. The store outlives its use.
  Task<void> use(CoordinationStore& store);
  // Takes the office if nobody holds it; false if somebody does. Nothing is published before open_office().
  Task<Result<bool>> claim(ClaimControllerPlanner& planner);
  // From now on this broker acts on the image, and others may follow it.
  Task<Status> open_office();
  Task<void> leave_office();
  // The same, and nobody has to wait for the end of the session to take it. Out of office in any case; an error: others
  // have to wait for that.
  Task<Status> resign();
  // Reads what others may have changed. not_controller if another one has taken office.
  Task<Status> look_again();

  // None: out of office.
  std::optional<int32_t> office_epoch() const;
  // The newest one in office, published or not; an old one otherwise.
  MetadataImagePtr image() const { return image_.load(); }

 private:
  Task<Status> run_step(Planner& planner);
  Task<Status> try_step(Planner& planner);
  Task<Status> commit(Transaction transaction);
  Task<Status> give_office_up();
  Task<Result<bool>> try_claim(ClaimControllerPlanner& planner);
  // The image is up to date, and still of this office.
  Task<Status> catch_up();
  Task<void> show_image();
  Task<bool> session_expired();
  Task<void> back_off(int attempt);
  void end_office();

  Parts parts_;
  Turnstile turnstile_;
  // Whoever has the turn reads and writes these.
  StoredImage stored_;
  bool open_ = false;            // images are published
  bool commit_refused_ = false;  // the last commit met a conflict

  std::atomic<int32_t> epoch_;  // of this office, or kOutOfOffice
  SharedCell<const MetadataImage> image_;
};

}  // namespace naru
