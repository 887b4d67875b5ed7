// A simulator that does not find a bug is worth nothing where the bug is: so known ones are planted, and have to be
// found.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "foundation/canary_testing.h"
#include "simulation/simulated_run.h"

namespace naru::simulation {
namespace {

constexpr uint64_t kSeeds = 600;

// A change of the simulator or of the brokers makes other runs of the same seeds; where a canary needs many more than
// before, what found it has become weaker.
class Canaries : public testing::TestWithParam<CanaryName> {};

TEST_P(Canaries, AreFound) {
  const PlantedCanary planted(GetParam().canary);
  const bool in_clusters = GetParam().finder == CanaryFinder::clusters;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (run_seed(seed, in_clusters ? Shape::cluster : Shape::single).problem) return;
  }
  FAIL() << "./dev sim " << (in_clusters ? "--cluster " : "") << "--canary " << GetParam().name << " --seeds " << kSeeds
         << " finds nothing";
}

std::vector<CanaryName> of_the_simulator() {
  std::vector<CanaryName> found;
  std::ranges::copy_if(kCanaries, std::back_inserter(found),
                       [](const CanaryName& canary) { return canary.finder <= CanaryFinder::single_brokers; });
  return found;
}

INSTANTIATE_TEST_SUITE_P(Planted, Canaries, testing::ValuesIn(of_the_simulator()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace naru::simulation
