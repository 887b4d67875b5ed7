// The identifiers that cross folders.
#pragma once

#include "foundation/strong_int.h"

namespace naru {

// A record's position in its partition. An "end" offset is exclusive: the offset of the next record.
using Offset = StrongInt<struct OffsetTag, int64_t>;
using LeaderEpoch = StrongInt<struct LeaderEpochTag, int32_t>;
using PartitionIndex = StrongInt<struct PartitionIndexTag, int32_t>;
using BrokerId = StrongInt<struct BrokerIdTag, int32_t>;
using ProducerId = StrongInt<struct ProducerIdTag, int64_t>;
using ProducerEpoch = StrongInt<struct ProducerEpochTag, int16_t>;

inline constexpr Offset kNoOffset{-1};
inline constexpr LeaderEpoch kNoLeaderEpoch{-1};
inline constexpr BrokerId kNoBroker{-1};
inline constexpr ProducerId kNoProducerId{-1};

}  // namespace naru
