// A simulator that does not find a bug is worth nothing where the bug is: so known ones are planted, and have to be
// found.
#include <gtest/gtest.h>

#include <algorithm>

#include "foundation/canary_testing.h"
#include "simulation/simulated_run.h"

namespace naru::simulation {
namespace {

// From seed 1 on. A change of the simulator or of the brokers makes other runs of the same seeds; where a canary needs
// many more than before, what found it has become weaker.
constexpr uint64_t kSeeds = 600;

class Canaries : public testing::TestWithParam<CanaryName> {};

TEST_P(Canaries, AreFound) {
  const PlantedCanary planted(GetParam().canary);
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (run_seed(seed, Shape::cluster).problem) return;
  }
  FAIL() << "./dev sim --cluster --canary " << GetParam().name << " --seeds " << kSeeds << " finds nothing";
}

INSTANTIATE_TEST_SUITE_P(Planted, Canaries, testing::ValuesIn(kCanaries),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace naru::simulation
