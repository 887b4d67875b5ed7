#pragma once

#include <string>

namespace naru {

// The content of docs/configuration.md.
std::string render_reference();

}  // namespace naru
