// What the headers in a journal's ring say about its rounds: a core without I/O.
//
// A round is written only when the one before is durable. So only the newest round may be incomplete, and a power cut
// explains that: it was promised to nobody. Whatever is missing before it was durable once, and is damage.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "commit_journal/journal_format.h"

namespace naru {

struct RoundChain {
  std::vector<JournalRoundHeader> needed;  // in their order, up to the newest
  // The position at which a needed round should be and is not.
  std::optional<uint64_t> missing;
};

// `found`: all headers with the journal's id, in any order, where their positions say.
RoundChain chain_rounds(std::vector<JournalRoundHeader> found);

}  // namespace naru
