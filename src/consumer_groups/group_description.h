// Groups as people and tools see them.
#pragma once

#include <string>

#include "consumer_groups/classic/classic_group.h"
#include "consumer_groups/group_messages.h"

namespace naru {

ListedGroup listed_classic_group(const ClassicGroup& group);
DescribedGroup described_classic_group(const ClassicGroup& group);

// A group that has only offsets: nobody has ever joined it.
ListedGroup listed_simple_group(const std::string& group_id);
DescribedGroup described_simple_group(const std::string& group_id);

}  // namespace naru
