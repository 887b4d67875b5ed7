// Errors that a broker sent. Unlike those of our own code their number may be any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foundation/status.h"

namespace naru::client {

// "topic orders: the topic's name is not allowed (INVALID_TOPIC_EXCEPTION)". The broker's own words, if it sent any,
// replace ours. A number without a row in our table becomes unknown_server_error with the number in the message.
// ok for ErrorCode::none.
Status broker_error(ErrorCode code, std::string_view about, const std::optional<std::string>& words = std::nullopt);

// The same about a topic as a whole, for which some errors have better words.
Status topic_error(ErrorCode code, std::string_view topic);

// Whether the same request may succeed later, perhaps at another broker.
bool is_retriable(ErrorCode code);
// Whether our picture of the cluster is probably old.
bool needs_new_metadata(ErrorCode code);
// Whether the effect may be there although the answer is an error.
bool may_have_happened(ErrorCode code);

}  // namespace naru::client
