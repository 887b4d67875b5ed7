// What it costs to have a worker go on with a request: half of a round trip from a loop to a worker and back.
#include <benchmark/benchmark.h>

#include "platform/real/real_platform.h"

namespace naru {
namespace {

Task<void> go_there_and_back(Scheduler& scheduler, benchmark::State& state) {
  for (auto _ : state) {
    co_await to_worker(scheduler);
    co_await to_loop(scheduler);
  }
}

void to_a_worker_and_back(benchmark::State& state) {
  RealPlatform platform({.loops = 1, .workers = 2});
  platform.run(go_there_and_back(platform.seams().scheduler, state));
}
BENCHMARK(to_a_worker_and_back)->UseRealTime();

}  // namespace
}  // namespace naru
