// What this machine and this process are allowed: for a person who wants to know why a broker is slow or refuses.
#pragma once

#include <cstdint>
#include <optional>

namespace naru {

// Empty where the system does not say.
struct SystemFacts {
  std::optional<uint64_t> open_files;      // what a process gets unless it asks for more
  std::optional<uint64_t> open_files_max;  // what it may ask for
  std::optional<uint64_t> memory_maps;     // vm.max_map_count
  std::optional<uint64_t> dirty_bytes;     // unwritten data at which the kernel makes writers wait
};

}  // namespace naru
