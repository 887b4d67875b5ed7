// From bytes to state: what the embedded store decides when it is opened. No I/O.
//
//   at the first position where no intact round stands       decision
//   nothing: the file ends there, or has only zeros           keep; the zeros are room for later rounds
//   bytes, and no trace of a later round behind them          cut: a round whose sync never returned
//   a round, or its trace, behind the damage                  refuse: what is damaged was once durable
//
// A round that was cut was never acknowledged, unless the very last one was damaged later on the disk itself; that
// cannot be told from a torn write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordination_store/embedded/store_format.h"

namespace naru {

struct StoreFile {
  std::string path;  // for messages
  BytesView content;
};

struct StoreRecovery {
  StoreState state;
  uint64_t last_round = 0;
  LogHeader log;
  uint64_t log_end = 0;           // where the next round goes
  uint64_t last_round_begin = 0;  // position of the last intact round; log_end when there is none
  uint64_t bytes_cut = 0;         // behind log_end, zeros at the end of the file not counted
};

// `log` is the newest one. corrupt_data or unsupported_format, with the file and what to do about it.
Result<StoreRecovery> recover_store(const std::optional<StoreFile>& snapshot, const StoreFile& log);

}  // namespace naru
