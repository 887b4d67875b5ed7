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

}  // namespace
}  // namespace naru
