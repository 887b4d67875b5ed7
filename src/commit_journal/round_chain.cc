#include "commit_journal/round_chain.h"

#include <algorithm>

namespace naru {

RoundChain chain_rounds(std::vector<JournalRoundHeader> found) {
  RoundChain chain;
  if (found.empty()) return chain;
  std::ranges::sort(found, {}, &JournalRoundHeader::sequence);
  auto at = std::prev(found.end());
  const uint64_t tail = at->tail;
  chain.needed.push_back(*at);
  for (;;) {
    const JournalRoundHeader& round = *at;
    if (round.previous_position == kNoJournalPosition || round.previous_position < tail) break;
    const bool there = at != found.begin() && std::prev(at)->sequence == round.sequence - 1 &&
                       std::prev(at)->position == round.previous_position;
    if (!there) {
      chain.missing = round.previous_position;
      break;
    }
    chain.needed.push_back(*--at);
  }
  std::ranges::reverse(chain.needed);
  return chain;
}

}  // namespace naru
