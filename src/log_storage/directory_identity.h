// The text of naru.properties.
#pragma once

#include <string>
#include <string_view>

#include "foundation/status.h"
#include "log_storage/log_directory.h"

namespace naru {

inline constexpr std::string_view kIdentityFileName = "naru.properties";
// 2: indexes and producer snapshots have names of our own. A version that knows 1 alone would not find them, and accept
// a resent batch of a producer that is remembered by its snapshot only.
inline constexpr int kDataFormatVersion = 2;
inline constexpr int kOldestDataFormatVersion = 1;
inline constexpr uint64_t kMaxIdentityFileBytes = 64 * 1024;

std::string format_identity(const DirectoryIdentity& identity);
// Keys that are not known are ignored: a newer version of the same format may add some. `folder` is for the message.
Result<DirectoryIdentity> parse_identity(std::string_view text, const std::string& folder);

}  // namespace naru
