// Base64 as in JSON's mapping of bytes: the standard alphabet, padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foundation/bytes.h"

namespace naru {

std::string encode_base64(BytesView bytes);
// Nothing for what is not base64.
std::optional<Bytes> decode_base64(std::string_view text);

}  // namespace naru
