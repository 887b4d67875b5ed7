// Reads a commit journal as the last run has left it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "commit_journal/journal_format.h"
#include "foundation/status.h"
#include "log_storage/journal_replay.h"
#include "platform/file_system.h"

namespace naru {

struct JournalContents {
  JournalSlot slot;
  std::map<LogId, JournaledBatches> logs;
  uint64_t rounds = 0;
  bool torn_round = false;  // the newest one, which was promised to nobody, is incomplete and left out
};

// The newest slot. corrupt_data when none is whole, unsupported_format when a newer Naru wrote it.
Result<JournalSlot> read_journal_slot(const File& file);

// Everything that may be needed. Blocks: it reads the whole ring. corrupt_data when something that was durable is
// damaged: the message names file and position, and says what to do.
Result<JournalContents> read_journal(const std::shared_ptr<const File>& file);

}  // namespace naru
