#include "access/authorizer.h"

#include <gtest/gtest.h>

#include <utility>

namespace naru {
namespace {

bool may_act_as_broker(ListenerPurpose purpose) {
  return ListenerRights().authorize({.purpose = purpose, .software = {.name = "naru-broker"}},
                                    Operation::cluster_action, ResourceType::cluster, kClusterResource);
}

TEST(ListenerRights, LetCallersActAsBrokersOnListenersForBrokersAlone) {
  EXPECT_FALSE(may_act_as_broker(ListenerPurpose::clients)) << "whatever the client calls itself";
  EXPECT_TRUE(may_act_as_broker(ListenerPurpose::brokers));
  EXPECT_TRUE(may_act_as_broker(ListenerPurpose::clients_and_brokers));
}

TEST(ListenerRights, LetAnybodyDoWhatClientsDo) {
  const Caller caller{.purpose = ListenerPurpose::clients};
  EXPECT_TRUE(ListenerRights().authorize(caller, Operation::write, ResourceType::topic, "orders"));
  EXPECT_TRUE(ListenerRights().authorize(caller, Operation::alter, ResourceType::cluster, kClusterResource));
}

class Reading final : public Authorizer {
 public:
  bool authorize(const Caller&, Operation operation, ResourceType, std::string_view resource) const override {
    return resource == "orders" && (operation == Operation::read || operation == Operation::describe);
  }
};

TEST(AuthorizedOperations, HaveABitForEachOperationThatIsAllowed) {
  const Reading authorizer;
  const int32_t bits = (1 << std::to_underlying(Operation::read)) | (1 << std::to_underlying(Operation::describe));
  EXPECT_EQ(authorized_operations(authorizer, {}, ResourceType::topic, "orders"), bits);
  EXPECT_EQ(authorized_operations(authorizer, {}, ResourceType::topic, "other"), 0);
  EXPECT_EQ(authorized_operations(authorizer, {}, ResourceType::transactional_id, "orders"),
            1 << std::to_underlying(Operation::describe))
      << "nobody reads a transactional id";
}

}  // namespace
}  // namespace naru
