#pragma once

namespace naru {

// Sanitizers make a program five to fifteen times slower, and keep freed memory for a while: long tests do fewer
// rounds.
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);

}  // namespace naru
