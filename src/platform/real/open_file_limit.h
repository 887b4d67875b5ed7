// How many descriptors this process may have open.
#pragma once

#include <cstdint>

namespace naru {

uint64_t open_file_limit();
// As far as the hard limit allows. What a process gets without asking is small, for the sake of programs that use
// select(); we do not.
void raise_open_file_limit();

}  // namespace naru
