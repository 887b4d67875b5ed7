// Everything through which a broker touches the world. One real set (real/), one simulated set (simulated/).
#pragma once

#include "platform/clock.h"
#include "platform/file_system.h"
#include "platform/random.h"
#include "platform/scheduler.h"
#include "platform/transport.h"

namespace naru {

struct Seams {
  Clock& clock;
  Random& random;
  FileSystem& files;
  Transport& transport;
  Scheduler& scheduler;
};

}  // namespace naru
