// What a commit journal counts; docs/metrics.md says what each means.
#pragma once

#include <string>

#include "observability/metrics_registry.h"

namespace naru {

struct JournalMetrics {
  JournalMetrics(MetricsRegistry& registry, const std::string& folder)
      : sync_seconds(registry.histogram("naru_journal_sync_seconds", "Time to write and sync a round", kLatencyScale,
                                        {{"folder", folder}})),
        round_entries(registry.histogram("naru_journal_round_entries", "Batches in a round", kEntriesScale,
                                         {{"folder", folder}})),
        bytes(registry.counter("naru_journal_bytes_total", "Bytes written to the journal", {{"folder", folder}})),
        freeing_syncs(registry.counter("naru_journal_freeing_syncs_total",
                                       "Syncs of logs that were made to free the journal", {{"folder", folder}})),
        fallbacks_not_ready(fallbacks(registry, folder, "not_ready")),
        fallbacks_full(fallbacks(registry, folder, "full")),
        fallbacks_busy(fallbacks(registry, folder, "busy")),
        fallbacks_failed(fallbacks(registry, folder, "failed")) {}

  Histogram& sync_seconds;
  Histogram& round_entries;
  Counter& bytes;
  Counter& freeing_syncs;
  // Batches small enough for the journal whose log's files were synced instead.
  Counter& fallbacks_not_ready;  // it is being made, or not in use in this run
  Counter& fallbacks_full;       // no space could be freed in time
  Counter& fallbacks_busy;       // too much waits for it
  Counter& fallbacks_failed;     // it could not be written

 private:
  static constexpr HistogramScale kEntriesScale{1, 14, 1};  // 1 to 8192

  static Counter& fallbacks(MetricsRegistry& registry, const std::string& folder, std::string reason) {
    return registry.counter("naru_journal_fallbacks_total",
                            "Small batches that were made durable by a sync of their log's files",
                            {{"folder", folder}, {"reason", std::move(reason)}});
  }
};

}  // namespace naru
