#include "commit_journal/folder_journals.h"

#include <algorithm>
#include <utility>

namespace naru {

FolderJournals::FolderJournals(Seams seams, const std::vector<Folder>& folders, const JournalSettings& settings,
                               MetricsRegistry& registry)
    : folders_(folders), unreplayed_(folders.size()) {
  for (const Folder& folder : folders_) {
    journals_.push_back(
        std::make_unique<CommitJournal>(CommitJournal::Parts{seams.clock, seams.random, seams.files, seams.scheduler},
                                        folder.path, settings, registry));
  }
}

Status FolderJournals::read() {
  for (size_t i = 0; i < journals_.size(); ++i) {
    NARU_TRY_ASSIGN(auto contents, journals_[i]->read(folders_[i].clean_shutdown));
    const std::scoped_lock lock(mutex_);
    unreplayed_[i] = std::move(contents);
  }
  return Status();
}

std::vector<JournaledBatches> FolderJournals::unreplayed(const LogId& log) const {
  const std::scoped_lock lock(mutex_);
  std::vector<JournaledBatches> found;
  for (const auto& logs : unreplayed_) {
    if (const auto at = logs.find(log); at != logs.end()) found.push_back(at->second);
  }
  return found;
}

void FolderJournals::replayed(const LogId& log) {
  const std::scoped_lock lock(mutex_);
  for (auto& logs : unreplayed_) logs.erase(log);
}

void FolderJournals::begin(const std::set<LogId>& present) {
  for (size_t i = 0; i < journals_.size(); ++i) {
    bool all_recovered = false;
    {
      const std::scoped_lock lock(mutex_);
      // Those that could not be opened are kept: they may be opened later.
      std::erase_if(unreplayed_[i], [&](const auto& log) { return !present.contains(log.first); });
      all_recovered = unreplayed_[i].empty();
    }
    journals_[i]->begin(all_recovered);
  }
}

Task<void> FolderJournals::drain() {
  for (const auto& journal : journals_) co_await journal->drain();
}

}  // namespace naru
