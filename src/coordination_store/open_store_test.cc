#include "coordination_store/open_store.h"

#include <gtest/gtest.h>

#include "coordination_store/real_backend_testing.h"
#include "coordination_store/server_process_testing.h"

namespace naru {
namespace {

TEST(OpenStore, TheEmbeddedStoreIsInItsFolder) {
  const TemporaryFolder folder;
  StoreOptions options;
  options.embedded.folder = folder.path() + "/metadata";
  auto opened = run_for_real(open_coordination_store(shared_platform().seams(), options));
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_TRUE(run_for_real((*opened)->commit({.puts = {{"a", {}}}})));
  EXPECT_TRUE(run_for_real((*opened)->close()).ok());
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/metadata"));
}

TEST(OpenStore, AServiceThatCannotBeReachedIsNamedWithWhatToDo) {
  for (const char* service : {"zookeeper", "etcd"}) {
    const std::string text = fmt::format("{}://127.0.0.1:{}/naru", service, free_loopback_port());
    const auto opened = run_for_real(open_coordination_store(
        shared_platform().seams(),
        {.address = parse_coordination_address(text).value(), .session_timeout = 1s, .connect_timeout = 300ms}));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::unavailable);
    EXPECT_NE(opened.error().message().find(text), std::string::npos) << opened.error().message();
    EXPECT_NE(opened.error().message().find("--coordination"), std::string::npos) << opened.error().message();
  }
}

TEST(OpenStore, AHostThatCannotBeLookedUpIsNamed) {
  for (const char* service : {"zookeeper", "etcd"}) {
    const std::string text = fmt::format("{}://no-such-host.invalid:1/naru", service);
    const auto opened = run_for_real(open_coordination_store(
        shared_platform().seams(),
        {.address = parse_coordination_address(text).value(), .session_timeout = 1s, .connect_timeout = 300ms}));
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find("no-such-host.invalid"), std::string::npos) << opened.error().message();
  }
}

// Takes connections and says nothing.
class SilentServer {
 public:
  SilentServer() : bound_(bind_loopback()) { NARU_ASSERT(::listen(bound_.first, 16) == 0, "cannot listen"); }
  ~SilentServer() { ::close(bound_.first); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  StoreOptions options(const char* service) const {
    const std::string text = fmt::format("{}://127.0.0.1:{}/naru", service, bound_.second);
    return {.address = parse_coordination_address(text).value(), .session_timeout = 60s, .connect_timeout = 60s};
  }

 private:
  const std::pair<int, uint16_t> bound_;
};

Duration time_to_fail(const StoreOptions& options) {
  const Seams seams = shared_platform().seams();
  const MonotonicTime begun = seams.clock.now();
  EXPECT_FALSE(run_for_real(open_coordination_store(seams, options)));
  return seams.clock.now() - begun;
}

TEST(OpenStore, ASilentServiceIsNotWaitedForBeyondTheTimeout) {
  const SilentServer server;
  for (const char* service : {"zookeeper", "etcd"}) {
    StoreOptions options = server.options(service);
    options.connect_timeout = 500ms;
    EXPECT_LT(time_to_fail(options), 20s) << service;
  }
}

TEST(OpenStore, ASilentServiceIsNotWaitedForOnceThatIsCancelled) {
  const SilentServer server;
  for (const char* service : {"zookeeper", "etcd"}) {
    CancelSource source;
    StoreOptions options = server.options(service);
    options.cancelled = source.token();
    Seams seams = shared_platform().seams();
    seams.scheduler.start_timer(seams.clock.now() + 300ms, [&source] { source.cancel(); });
    EXPECT_LT(time_to_fail(options), 20s) << service;
  }
}

}  // namespace
}  // namespace naru
