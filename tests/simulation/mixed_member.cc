#include "simulation/mixed_member.h"

#include "simulation/consumer_member.h"

namespace naru::simulation {
namespace {

constexpr Duration kLongestLife = 1600ms;
// All members change about together, now to the one protocol and now to the other, and some of them too early or late.
constexpr Duration kRollout = 1s;

}  // namespace

Task<void> MixedMember::run() {
  Random& random = context_.seams.random;
  while (!context_.stopping) {
    GroupContext life = context_;
    life.until = context_.seams.clock.now() + Duration(random.below(static_cast<uint64_t>(kLongestLife.count())));
    const bool is_upgraded = (context_.seams.clock.now().time_since_epoch() / kRollout) % 2 == 1;
    if (random.one_in(3) ? !is_upgraded : is_upgraded) {
      ConsumerMember member(life, group_, instance_id_);
      co_await member.run();
    } else {
      GroupMember member(life, group_, instance_id_,
                         {.language = consumer_language(), .has_epochs = true, .keeps_partitions = random.one_in(2)});
      co_await member.run();
    }
  }
}

}  // namespace naru::simulation
