#pragma once

#include "platform/system_facts.h"

namespace naru {

// Reads /proc and asks for limits; blocks for a moment.
SystemFacts read_system_facts();

}  // namespace naru
