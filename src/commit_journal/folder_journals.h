// The commit journals of a broker's data folders, and what they held when the broker started.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "commit_journal/commit_journal.h"
#include "platform/seams.h"

namespace naru {

// Thread: recovering and the look-ups from any thread; the rest one call at a time.
class FolderJournals {
 public:
  struct Folder {
    std::string path;
    bool clean_shutdown = false;
  };
  FolderJournals(Seams seams, const std::vector<Folder>& folders, const JournalSettings& settings,
                 MetricsRegistry& registry);

  // Blocks. Refuses a damaged journal.
  Status read();
  // The journal of the folder with this number.
  CommitJournal& of(size_t folder) { return *journals_[folder]; }

  // What all journals hold of a log: its folder may have been moved from one disk to another.
  std::vector<JournaledBatches> unreplayed(const LogId& log) const;
  // The log has been opened with them, or deleted.
  void replayed(const LogId& log);

  // `present`: the logs that have a folder, opened or not. Blocks.
  void begin(const std::set<LogId>& present);

  Task<void> drain();

 private:
  std::vector<Folder> folders_;
  std::vector<std::unique_ptr<CommitJournal>> journals_;
  mutable std::mutex mutex_;
  std::vector<std::map<LogId, JournaledBatches>> unreplayed_;  // one for each journal
};

}  // namespace naru
