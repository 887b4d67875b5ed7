#include "foundation/status.h"

namespace naru {

std::string Status::to_string() const {
  const ErrorRow& row = describe(code_);
  return message_.empty() ? fmt::format("{}: {}", row.name, row.meaning) : fmt::format("{}: {}", row.name, message_);
}

}  // namespace naru
