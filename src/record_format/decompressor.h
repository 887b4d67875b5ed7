// Decompression for the paths that do it all the time.
#pragma once

#include <cstddef>
#include <memory>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "record_format/record_batch.h"

namespace naru {

// Decompresses one input after the other into memory that it keeps, together with the libraries' contexts, so that the
// produce path does not allocate per request. Not thread-safe.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // For code that is done with the output before it calls anything that might decompress, too, and never suspends in
  // between. Such code ends with trim().
  static Decompressor& of_this_thread();

  // The view is valid until the next call; for Compression::none it is the input itself. Errors as in compression.h.
  // The output is allocated as it comes, so memory is bounded by twice the limit whatever the input says.
  Result<BytesView> decompress(Compression codec, BytesView input, size_t limit);

  // Gives back the memory of an unusually large output. Ends the validity of the last view.
  void trim();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace naru
