#include "async/cancellation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace naru {
namespace {

TEST(Cancellation, DefaultTokenIsNeverCancelled) {
  const CancelToken token;
  EXPECT_FALSE(token.cancelled());
  const CancelCallback callback(token, [] { ADD_FAILURE(); });
}

TEST(Cancellation, CallsBackOnceInOrderOfRegistration) {
  CancelSource source;
  std::vector<int> order;
  const CancelCallback first(source.token(), [&] { order.push_back(1); });
  const CancelCallback second(source.token(), [&] { order.push_back(2); });
  EXPECT_FALSE(source.token().cancelled());
  source.cancel();
  source.cancel();
  EXPECT_TRUE(source.token().cancelled());
  EXPECT_EQ(order, (std::vector{1, 2}));
  const CancelCallback late(source.token(), [&] { order.push_back(3); });
  EXPECT_EQ(order.back(), 3) << "at once if it is too late to wait";
}

TEST(Cancellation, DestroyedCallbackIsNotCalled) {
  CancelSource source;
  {
    const CancelCallback callback(source.token(), [] { ADD_FAILURE(); });
  }
  source.cancel();
}

TEST(Cancellation, CallbackMayDestroyOtherCallbacksAndTheSource) {
  auto source = std::make_unique<CancelSource>();
  std::optional<CancelCallback> victim;
  const CancelCallback killer(source->token(), [&] {
    victim.reset();
    source.reset();
  });
  victim.emplace(source->token(), [] { ADD_FAILURE(); });
  source->cancel();
  EXPECT_EQ(source, nullptr);
}

TEST(Cancellation, DestructorWaitsForACallbackThatRunsOnAnotherThread) {
  CancelSource source;
  std::atomic<bool> entered{false};
  std::atomic<bool> left{false};
  auto callback = std::make_unique<CancelCallback>(source.token(), [&] {
    entered = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    left = true;
  });
  std::thread canceller([&] { source.cancel(); });
  while (!entered) std::this_thread::yield();
  callback.reset();
  EXPECT_TRUE(left);
  canceller.join();
}

TEST(CancellationStress, CancellingAndDestroyingRace) {
  for (int i = 0; i < 2000; ++i) {
    CancelSource source;
    int calls = 0;  // not atomic: the callback's destructor is the only fence there is
    std::thread canceller;
    {
      const CancelCallback callback(source.token(), [&calls] { ++calls; });
      canceller = std::thread([&source] { source.cancel(); });
    }
    EXPECT_LE(calls, 1);
    canceller.join();
  }
}

}  // namespace
}  // namespace naru
