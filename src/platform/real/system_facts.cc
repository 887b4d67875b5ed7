#include "platform/real/system_facts.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "platform/real/unique_descriptor.h"

namespace naru {
namespace {

// Files of /proc have no size: read until the end.
std::string read_text(const char* path) {
  const UniqueDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> block;
  while (file) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got <= 0) break;
    text.append(block.data(), static_cast<size_t>(got));
  }
  return text;
}

std::optional<uint64_t> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> read_number(const char* path) {
  return number_at(read_text(path));
}

// "MemTotal:       12345 kB"
std::optional<uint64_t> memory_line(const std::string& text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  const auto kilobytes = number_at(std::string_view(text).substr(at + name.size()));
  return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

uint64_t limit(rlim_t value) {
  return value == RLIM_INFINITY ? UINT64_MAX : static_cast<uint64_t>(value);
}

}  // namespace

SystemFacts read_system_facts() {
  SystemFacts facts;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    facts.open_files = limit(files.rlim_cur);
    facts.open_files_max = limit(files.rlim_max);
  }
  facts.memory_maps = read_number("/proc/sys/vm/max_map_count");
  // Either of the two decides, and the other one is 0.
  facts.dirty_bytes = read_number("/proc/sys/vm/dirty_bytes");
  const auto available = memory_line(read_text("/proc/meminfo"), "MemAvailable:");
  const auto ratio = read_number("/proc/sys/vm/dirty_ratio");
  if (facts.dirty_bytes == 0 && available && ratio) facts.dirty_bytes = *available / 100 * *ratio;
  return facts;
}

}  // namespace naru
