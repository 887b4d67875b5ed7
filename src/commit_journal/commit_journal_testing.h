// Vocabulary of this folder's tests: a simulated disk with some logs and their journal, on a scheduler that does only
// what it is told.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/strand.h"
#include "async/task_group.h"
#include "commit_journal/commit_journal.h"
#include "log_storage/log_storage_testing.h"
#include "observability/metrics_registry.h"
#include "platform/simulated/simulated_clock.h"

namespace naru {

// Jobs for workers wait here until the test lets them run.
class HandScheduler final : public Scheduler {
 public:
  void post(UniqueFunction<void()>) override { FAIL(); }
  void run_blocking(UniqueFunction<void()> work) override { jobs.push_back(std::move(work)); }
  TimerId start_timer(MonotonicTime, UniqueFunction<void()>) override { return 0; }
  bool cancel_timer(TimerId) override { return false; }

  void run_one(size_t which = 0) {
    auto job = std::move(jobs[which]);
    jobs.erase(jobs.begin() + static_cast<ptrdiff_t>(which));
    job();
  }
  void run_all() {
    while (!jobs.empty()) run_one();
  }

  std::deque<UniqueFunction<void()>> jobs;
};

class StillClock final : public Clock {
 public:
  MonotonicTime now() const override { return {}; }
  WallTimeMs wall_now_ms() const override { return 0; }
};

// A log, and what was done to it and promised about it.
class WitnessedLog final : public DurableLog {
 public:
  explicit WitnessedLog(LogId id) : id_(id) {}

  LogId id() const override { return id_; }
  void run_in_strand(UniqueFunction<void()> event) override { strand_.run(std::move(event)); }
  PartitionLog& log() override { return *log_; }
  void on_durable(Offset end) override { promised = std::max(promised, end); }
  void on_sync_failed(const Status& reason) override { failures.push_back(reason); }

  void use(std::unique_ptr<PartitionLog> log) { log_ = std::move(log); }
  void stop_syncs() { begin_closing(), end_syncs(); }

  // False when the log does not take it; it may be in the file all the same.
  bool append(DurabilityService& service, const std::shared_ptr<DurableLog>& self, const TestBatch& batch) {
    batches.push_back(batch);
    const BuiltBatch built = build(batch);
    const auto appended = log_->append(built.bytes, built.validated, batch.epoch, 0);
    if (!appended) return false;
    const SharedBytes shared(built.bytes);
    service.make_durable(self, StoredBatch{.header = appended->header,
                                           .records = shared.slice(kBatchHeaderSize, shared.size() - kBatchHeaderSize),
                                           .base_offset = appended->base_offset,
                                           .end_offset = appended->last_offset + 1,
                                           .leader_epoch = batch.epoch});
    return true;
  }
  bool truncate(Offset end) {
    before_truncation = batches;
    while (offsets_in(batches) > end.value()) batches.pop_back();
    promised = std::min(promised, Offset(offsets_in(batches)));
    if (!log_->truncate_to(end).ok()) return false;
    before_truncation.clear();
    return true;
  }

  std::vector<TestBatch> batches;
  std::vector<TestBatch> before_truncation;  // while one is under way
  Offset promised{0};
  std::vector<Status> failures;

 private:
  const LogId id_;
  std::unique_ptr<PartitionLog> log_;
  Strand strand_;
};

inline constexpr JournalSettings kTinyJournal{.bytes = 12 * kJournalBlock, .batch_max_bytes = 250};

// Some logs and a journal on one disk, opened by one process.
class JournaledLogs {
 public:
  JournaledLogs(FileSystem& files, Random& random, const JournalSettings& settings = kTinyJournal)
      : files_(files),
        open_files_(files, 4),
        journal(std::make_unique<CommitJournal>(CommitJournal::Parts{clock_, random, files, scheduler}, "/", settings,
                                                registry)) {}
  ~JournaledLogs() { stop(); }
  JournaledLogs(const JournaledLogs&) = delete;
  JournaledLogs& operator=(const JournaledLogs&) = delete;

  static LogId id_of(size_t number) { return {Uuid{7, number + 1}, PartitionIndex(0)}; }
  static std::string folder_of(size_t number) { return fmt::format("/t{}-0", number); }
  static void create(FileSystem& files, size_t logs) {
    for (size_t i = 0; i < logs; ++i) {
      ASSERT_TRUE(files.create_directories(folder_of(i)).ok());
      ASSERT_TRUE(fill_new_partition_folder(files, folder_of(i), id_of(i).topic_id).ok());
    }
    ASSERT_TRUE(files.sync_directory("/").ok());
  }

  // Recovers all logs.
  Status open(size_t count, bool clean_shutdown = false) {
    NARU_TRY_ASSIGN(auto journaled, journal->read(clean_shutdown));
    for (size_t i = 0; i < count; ++i) {
      std::vector<JournaledBatches> batches;
      if (const auto found = journaled.find(id_of(i)); found != journaled.end()) batches.push_back(found->second);
      NARU_TRY_ASSIGN(
          auto opened,
          PartitionLog::open(
              files_, open_files_, folder_of(i), config,
              {.topic_id = id_of(i).topic_id, .clean_shutdown = clean_shutdown, .now = 0, .journaled = batches}));
      replayed += opened.report.replayed_batches;
      logs.push_back(std::make_shared<WitnessedLog>(id_of(i)));
      logs.back()->use(std::move(opened.log));
    }
    journal->begin(true);
    return Status();
  }
  bool append(size_t number, const TestBatch& batch) { return logs[number]->append(*journal, logs[number], batch); }

  // Every log is closed in order, and the journal is left empty.
  Status close() {
    scheduler.run_all();
    for (const auto& log : logs) {
      log->stop_syncs();
      NARU_TRY(log->log().close());
      journal->closed(*log);
    }
    stop();
    journal->leave_empty();
    return Status();
  }

  uint64_t metric(const std::string& line_begin) const {
    const std::string text = registry.render_prometheus();
    const size_t at = text.find("\n" + line_begin);
    if (at == std::string::npos) return 0;
    const size_t value = text.find_last_of(' ', text.find('\n', at + 1));
    return std::stoull(text.substr(value + 1));
  }
  uint64_t fallbacks(const std::string& reason) const {
    return metric(fmt::format("naru_journal_fallbacks_total{{folder=\"/\",reason=\"{}\"}}", reason));
  }
  uint64_t rounds() const { return metric("naru_journal_sync_seconds_count"); }

  LogConfig config = LogOnDisk::small_segments();
  HandScheduler scheduler;
  MetricsRegistry registry;
  std::vector<std::shared_ptr<WitnessedLog>> logs;
  uint64_t replayed = 0;

 private:
  void stop() {
    if (std::exchange(stopped_, true)) return;
    TaskGroup group;
    group.spawn(journal->drain());
    scheduler.run_all();
    EXPECT_EQ(group.running(), 0u) << "the journal did not come to rest";
  }

  FileSystem& files_;
  OpenFiles open_files_;
  StillClock clock_;
  bool stopped_ = false;

 public:
  std::unique_ptr<CommitJournal> journal;  // after the scheduler, which its jobs come from
};

}  // namespace naru
