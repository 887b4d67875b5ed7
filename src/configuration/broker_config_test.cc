#include "configuration/broker_config.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

std::string refusal(const BrokerConfigInputs& inputs) {
  const auto config = load_broker_config(inputs);
  if (config) return "accepted";
  EXPECT_EQ(config.error().code(), ErrorCode::invalid_argument);
  return config.error().message();
}

TEST(BrokerConfig, NeedsNoConfigurationAtAll) {
  const auto config = load_broker_config({});
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->node_id, BrokerId(1));
  EXPECT_EQ(config->log_dirs, std::vector<std::string>{"./data"});
  EXPECT_EQ(config->listeners, (std::vector<ListenerConfig>{{"PLAINTEXT", {"127.0.0.1", 9092}, std::nullopt, {}}}));
  EXPECT_EQ(config->admin_listener, (Endpoint{"127.0.0.1", 9192}));
  EXPECT_EQ(config->num_partitions, 4);
  EXPECT_EQ(config->default_replication_factor, std::nullopt);
  EXPECT_EQ(config->num_network_threads, std::nullopt);
  EXPECT_EQ(config->connections_max_idle, 10min);
  EXPECT_TRUE(config->auto_create_topics_enable);
  EXPECT_EQ(config->log_level, LogLevel::info);
  EXPECT_TRUE(ineffective_keys(*config).empty());
}

TEST(BrokerConfig, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
  BrokerConfigInputs inputs;
  inputs.file_name = "naru.properties";
  inputs.file_text = "# broker\nnum.partitions=10\nbroker.id=7\nbroker.rack=r1\n";
  inputs.environment = {{"PATH", "/bin"}, {"NARU_NUM_PARTITIONS", "20"}, {"NARU_LOG_LEVEL", "debug"}};
  inputs.flags = {{"num.partitions", "25", "flag --set"}, {"num.partitions", "30", "flag --set"}};
  const auto config = load_broker_config(inputs);
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->num_partitions, 30);
  EXPECT_EQ(config->node_id, BrokerId(7)) << "under its alias";
  EXPECT_EQ(config->rack, "r1");
  EXPECT_EQ(config->log_level, LogLevel::debug) << "the prefix of our own keys is not doubled";

  EXPECT_EQ(config->values.at("num.partitions").origin, "flag --set");
  EXPECT_EQ(config->values.at("naru.log.level").origin, "environment variable NARU_LOG_LEVEL");
  EXPECT_EQ(config->values.at("node.id").origin, "naru.properties:3");
  EXPECT_EQ(config->values.at("node.id").source, ConfigSource::static_broker);
  EXPECT_EQ(config->values.at("fetch.max.bytes").source, ConfigSource::default_value);
}

TEST(BrokerConfig, NamesEveryProblemWithItsPlace) {
  BrokerConfigInputs inputs;
  inputs.file_name = "naru.properties";
  inputs.file_text = "num.partition=10\nnode.id=x\nretention.ms=5\nzookeeper.connect=z:2181\n";
  inputs.environment = {{"NARU_NODE_IDD", "1"}};
  inputs.flags = {{"fetch.max.bytes", "1", "flag --set"}};
  EXPECT_EQ(refusal(inputs),
            "naru.properties:1: unknown key 'num.partition'; did you mean num.partitions?\n"
            "naru.properties:2: node.id must be an integer from 0 to 2147483647, not 'x'\n"
            "naru.properties:3: unknown key 'retention.ms'; that is a key of topics, not of brokers\n"
            "naru.properties:4: unknown key 'zookeeper.connect'\n"
            "environment variable NARU_NODE_IDD belongs to no key; did you mean NARU_NODE_ID?\n"
            "flag --set: fetch.max.bytes must be an integer from 1024 to 2147483647, not '1'");
}

TEST(BrokerConfig, AssignorsAreAListOfThoseThatThereAre) {
  EXPECT_EQ(make_broker_config({})->groups.consumer_assignors, (std::vector<std::string>{"uniform", "range"}));
  EXPECT_EQ(make_broker_config({{"group.consumer.assignors", "range"}})->groups.consumer_assignors,
            std::vector<std::string>{"range"});
  EXPECT_EQ(make_broker_config({{"group.consumer.assignors", "range,org.example.Own"}}).error().message(),
            "given value: group.consumer.assignors must be a list of uniform, range, not 'range,org.example.Own'");
  EXPECT_FALSE(make_broker_config({{"group.consumer.assignors", ""}})) << "none could be the default";
}

TEST(BrokerConfig, AHostileFileGivesAMessageOfBoundedLength) {
  BrokerConfigInputs inputs;
  inputs.file_name = "f";
  for (int i = 0; i < 10'000; ++i) inputs.file_text += "key" + std::to_string(i) + "=1\n";
  const std::string message = refusal(inputs);
  EXPECT_LT(message.size(), 2000u);
  EXPECT_TRUE(message.ends_with("\nand 9980 more")) << message;
}

TEST(BrokerConfig, AKeyWithTwoValuesInOneFileIsRefused) {
  BrokerConfigInputs inputs;
  inputs.file_name = "f";
  inputs.file_text = "node.id=1\n\nbroker.id=2\n";
  EXPECT_EQ(refusal(inputs), "f:3: broker.id has another value in line 1");
  inputs.file_text = "node.id=1\nbroker.id=1\n";
  EXPECT_EQ(refusal(inputs), "accepted");
}

TEST(BrokerConfig, VariablesOfAServiceNamedNaruAreNotOurs) {
  BrokerConfigInputs inputs;
  inputs.environment = {{"NARU_SERVICE_HOST", "10.0.0.1"},
                        {"NARU_SERVICE_PORT", "9092"},
                        {"NARU_SERVICE_PORT_KAFKA", "9092"},
                        {"NARU_PORT", "tcp://10.0.0.1:9092"},
                        {"NARU_PORT_9092_TCP", "tcp://10.0.0.1:9092"},
                        {"NARU_PORT_9092_TCP_ADDR", "10.0.0.1"},
                        {"NARU_PORT_9092_TCP_PORT", "9092"},
                        {"NARU_PORT_9092_TCP_PROTO", "tcp"},
                        {"NARU_HEADLESS_SERVICE_HOST", "None"}};
  EXPECT_EQ(refusal(inputs), "accepted");
  inputs.environment = {{"NARU_PORT", "9092"}};
  EXPECT_EQ(refusal(inputs), "environment variable NARU_PORT belongs to no key");
}

TEST(BrokerConfig, RefusesABudgetIntoWhichOneRequestWouldNotFit) {
  const auto config = make_broker_config({{"naru.memory.budget.bytes", "100000000"}});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message(),
            "naru.memory.budget.bytes (given value) is 100000000, but one request may need 239075328 "
            "(socket.request.max.bytes + twice naru.max.decompressed.bytes); raise the budget or lower those");
}

TEST(BrokerConfig, RefusesListenersThatContradictEachOther) {
  BrokerConfigInputs inputs;
  inputs.flags = {{"listeners", "127.0.0.1", "flag --kafka"}};
  EXPECT_EQ(refusal(inputs), "listeners (flag --kafka): '127.0.0.1' is not HOST:PORT");
}

TEST(BrokerConfig, TheAdminListenerCanBeSwitchedOffAndHasToBeAnAddress) {
  EXPECT_EQ(make_broker_config({{"naru.admin.listener", ""}})->admin_listener, std::nullopt);
  EXPECT_EQ(make_broker_config({{"naru.admin.listener", "localhost"}}).error().message(),
            "given value: naru.admin.listener cannot be 'localhost': 'localhost' is not HOST:PORT");
}

TEST(BrokerConfig, OneDataFolderOnly) {
  EXPECT_EQ(make_broker_config({{"log.dirs", "/a, /b"}})->log_dirs, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(make_broker_config({{"log.dirs", "/a,/a"}}).error().message(),
            "given value: log.dirs cannot be '/a,/a': a data folder is named twice");
}

TEST(BrokerConfig, SaysWhichKeysChangeNothing) {
  const auto config =
      make_broker_config({{"background.threads", "20"}, {"ssl.client.auth", "none"}, {"num.partitions", "1"}});
  ASSERT_TRUE(config);
  EXPECT_EQ(
      ineffective_keys(*config),
      (std::vector<std::string>{
          "ssl.client.auth (given value) has no effect: There is no TLS yet: listeners are PLAINTEXT only, and this "
          "would pretend that they are protected.",
          "background.threads (given value) has no effect: Work is divided among num.network.threads event loops "
          "and num.io.threads workers; there are no threads of this kind."}));
}

std::string refusal_to_start(const ConfigOverrides& values) {
  const auto config = make_broker_config(values);
  return config ? "it starts" : config.error().message();
}

TEST(BrokerConfig, DoesNotStartWithAPromiseThatItCannotKeep) {
  EXPECT_EQ(refusal_to_start({{"authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}}),
            "given value: authorizer.class.name cannot be set to anything but '': There is no authorization yet: every "
            "client may do everything, and this would pretend otherwise.");
  EXPECT_EQ(refusal_to_start({{"ssl.keystore.password", "secret"}}),
            "given value: ssl.keystore.password cannot be set: There is no TLS yet: listeners are PLAINTEXT only, and "
            "this would pretend that they are protected.");
  for (const auto& [key, value] : ConfigOverrides{{"sasl.enabled.mechanisms", "PLAIN"},
                                                  {"max.connection.creation.rate", "10"},
                                                  {"controller.quorum.voters", "1@localhost:9093"},
                                                  {"remote.log.storage.system.enable", "true"},
                                                  {"cordoned.log.dirs", "*"},
                                                  {"security.inter.broker.protocol", "SSL"}}) {
    EXPECT_NE(refusal_to_start({{key, value}}).find(key + " cannot be set"), std::string::npos) << key;
  }
  EXPECT_EQ(refusal_to_start({{"process.roles", "controller"}}),
            "given value: process.roles cannot be 'controller': there are no controllers that are not brokers");
  EXPECT_EQ(refusal_to_start({{"process.roles", "broker,controller"},
                              {"num.recovery.threads.per.data.dir", "1"},
                              {"socket.send.buffer.bytes", "102400"},
                              {"transaction.state.log.min.isr", "1"},
                              {"authorizer.class.name", ""}}),
            "it starts");
}

TEST(BrokerConfig, FoldersAreInTheFolderThatTheBrokerWasStartedIn) {
  const auto folders = [](const std::string& given) {
    BrokerConfigInputs inputs{.working_folder = "/home/naru"};
    if (!given.empty()) inputs.flags.push_back({"log.dirs", given, "flag --data"});
    const auto config = load_broker_config(inputs);
    EXPECT_TRUE(config);
    EXPECT_EQ(config->values.at("log.dirs").source,
              given.empty() ? ConfigSource::default_value : ConfigSource::static_broker);
    return config->values.string("log.dirs");
  };
  EXPECT_EQ(folders(""), "/home/naru/data");
  EXPECT_EQ(folders("a, ./b,/disk1/c"), "/home/naru/a,/home/naru/b,/disk1/c");
}

TEST(BrokerConfig, OtherBrokersUseTheListenerThatIsNamed) {
  const ConfigOverrides two{{"listeners", "CLIENTS://127.0.0.1:1,BROKERS://127.0.0.1:2"},
                            {"listener.security.protocol.map", "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT"}};
  EXPECT_EQ(make_broker_config(two)->inter_broker_listener, "CLIENTS");
  ConfigOverrides named = two;
  named["inter.broker.listener.name"] = "BROKERS";
  EXPECT_EQ(make_broker_config(named)->inter_broker_listener, "BROKERS");
  named["inter.broker.listener.name"] = "OTHERS";
  EXPECT_EQ(refusal_to_start(named),
            "inter.broker.listener.name (given value) is OTHERS, which is not the name of a listener");
}

}  // namespace
}  // namespace naru
