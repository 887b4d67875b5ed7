"""Administration with python3-confluent-kafka: partitions, configuration that takes effect without a restart, bad input."""

import errno
import os
import unittest

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, NewPartitions, NewTopic

from kafka_messages import Connection
from naru_process import PATIENCE_S, Broker
from small_disk import SmallDisk

TOPIC, BROKER = ConfigResource.Type.TOPIC, ConfigResource.Type.BROKER


class AdminTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()
        cls.admin = AdminClient({"bootstrap.servers": cls.broker.address})

    @classmethod
    def tearDownClass(cls):
        cls.broker.close()

    def create(self, name, partitions=1, replicas=1, **how):
        self.admin.create_topics([NewTopic(name, partitions, replicas, **how)])[name].result(PATIENCE_S)

    def refusal(self, futures):
        with self.assertRaises(KafkaException) as refused:
            next(iter(futures.values())).result(PATIENCE_S)
        error = refused.exception.args[0]
        return error.name(), error.str()

    def describe(self, kind, name):
        resource = ConfigResource(kind, name)
        return next(iter(self.admin.describe_configs([resource]).values())).result(PATIENCE_S)

    def alter(self, kind, name, **configs):
        resource = ConfigResource(kind, name, set_config={key.replace("_", "."): value for key, value in configs.items()})
        return self.admin.alter_configs([resource])

    def set(self, kind, name, **configs):
        next(iter(self.alter(kind, name, **configs).values())).result(PATIENCE_S)

    def names(self):
        return set(self.admin.list_topics(timeout=PATIENCE_S).topics)

    def produce(self, topic, size):
        """None, or the name of the error."""
        results = []
        client = Producer({"bootstrap.servers": self.broker.address, "message.max.bytes": 8_000_000})
        client.produce(topic, b"x" * size, partition=0, on_delivery=lambda error, _: results.append(error))
        self.assertEqual(client.flush(PATIENCE_S), 0)
        return results[0] and results[0].name()

    def test_partitions_are_added(self):
        self.create("grows", 2)
        self.admin.create_partitions([NewPartitions("grows", 5)])["grows"].result(PATIENCE_S)
        self.assertEqual(len(self.admin.list_topics("grows", timeout=PATIENCE_S).topics["grows"].partitions), 5)
        self.assertEqual(self.refusal(self.admin.create_partitions([NewPartitions("grows", 5)])),
                         ("INVALID_PARTITIONS", "topic grows has 5 partitions, and 5 would not be more"))
        self.admin.create_partitions([NewPartitions("grows", 9)], validate_only=True)["grows"].result(PATIENCE_S)
        self.assertEqual(len(self.admin.list_topics("grows", timeout=PATIENCE_S).topics["grows"].partitions), 5)

    def test_a_topics_configuration_takes_effect_at_once_and_survives_a_restart(self):
        self.create("configured", config={"max.message.bytes": "2000"})
        self.assertEqual(self.produce("configured", 3000), "MSG_SIZE_TOO_LARGE")
        self.set(TOPIC, "configured", max_message_bytes="4000")
        self.assertIsNone(self.produce("configured", 3000))
        self.broker.kill()
        self.broker.start()
        entry = self.describe(TOPIC, "configured")["max.message.bytes"]
        self.assertEqual((entry.value, entry.source), ("4000", ConfigSource.DYNAMIC_TOPIC_CONFIG.value))
        self.set(TOPIC, "configured")  # AlterConfigs replaces everything
        entry = self.describe(TOPIC, "configured")["max.message.bytes"]
        self.assertEqual((entry.value, entry.source), ("1048588", ConfigSource.DEFAULT_CONFIG.value))

    def test_topics_follow_their_broker_at_once(self):
        self.create("follows")
        self.assertIsNone(self.produce("follows", 3000))
        self.set(BROKER, "1", message_max_bytes="2000")
        self.assertEqual(self.produce("follows", 3000), "MSG_SIZE_TOO_LARGE")
        entry = self.describe(TOPIC, "follows")["max.message.bytes"]
        self.assertEqual((entry.value, entry.source), ("2000", ConfigSource.DYNAMIC_BROKER_CONFIG.value))
        self.set(BROKER, "1")
        self.assertIsNone(self.produce("follows", 3000))

    def test_broker_keys_have_sources_and_those_read_at_the_start_are_read_only(self):
        described = self.describe(BROKER, "1")
        self.assertTrue(described["num.partitions"].is_read_only)
        self.assertEqual(described["log.dirs"].source, ConfigSource.STATIC_BROKER_CONFIG.value)
        self.assertFalse(described["log.retention.ms"].is_read_only)
        self.assertEqual({name: entry.value for name, entry in described.items() if entry.is_sensitive},
                         {name: None for name in described if name.endswith(("password", "passphrase", "secret", "secret.key"))
                          or name in ("sasl.jaas.config", "ssl.keystore.certificate.chain", "ssl.keystore.key",
                                      "ssl.truststore.certificates")})
        name, text = self.refusal(self.alter(BROKER, "1", num_partitions="9"))
        self.assertEqual((name, text), ("INVALID_REQUEST", "num.partitions cannot be changed while the broker runs: set "
                                                           "it in its configuration file"))

    def test_what_holds_is_shown_where_nothing_is_set(self):
        described = self.describe(BROKER, "1")
        value = lambda name: described[name].value
        self.assertEqual([value(name) for name in ("broker.id", "node.id", "default.replication.factor", "min.insync.replicas",
                                                   "offsets.topic.replication.factor", "transaction.state.log.min.isr")],
                         ["1", "1", "1", "1", "1", "1"])
        self.assertEqual(value("listeners"), f"PLAINTEXT://{self.broker.address}")
        self.assertEqual(value("advertised.listeners"), f"PLAINTEXT://{self.broker.address}")
        self.assertTrue(os.path.isabs(value("log.dirs")) and os.path.samefile(value("log.dirs"), self.broker.data))
        self.assertGreaterEqual(int(value("num.network.threads")), 1)
        self.create("shown")
        self.assertEqual([name for name, entry in self.describe(TOPIC, "shown").items() if entry.value is None], [])

    def test_every_key_that_is_shown_as_changeable_can_be_written_back(self):
        for kind, name in ((BROKER, "1"), (TOPIC, "written-back")):
            if kind == TOPIC:
                self.create(name)
            before = {key: entry.value for key, entry in self.describe(kind, name).items()}
            config = {key: entry.value for key, entry in self.describe(kind, name).items()
                      if not entry.is_read_only and entry.value is not None}
            self.assertGreater(len(config), 30)
            resource = ConfigResource(kind, name, set_config=config)
            next(iter(self.admin.alter_configs([resource]).values())).result(PATIENCE_S)
            self.assertEqual({key: entry.value for key, entry in self.describe(kind, name).items()}, before)
            self.set(kind, name)

    def test_a_key_without_effect_is_kept_and_shown_and_a_promise_is_refused(self):
        self.set(BROKER, "1", background_threads="20")
        entry = self.describe(BROKER, "1")["background.threads"]
        self.assertEqual((entry.value, entry.source), ("20", ConfigSource.DYNAMIC_BROKER_CONFIG.value))
        self.set(BROKER, "1")
        name, text = self.refusal(self.alter(BROKER, "1", max_connection_creation_rate="10"))
        self.assertEqual(name, "INVALID_REQUEST")
        self.assertIn("The rate of new connections is not limited", text)

    def test_loggers_of_the_broker_have_levels(self):
        with Connection(self.broker) as connection:
            alter = lambda broker, *changes, **how: connection.call("IncrementalAlterConfigs", 1, resources=[
                {"resource_type": 8, "resource_name": broker,
                 "configs": [{"name": name, "config_operation": operation, "value": value} for name, operation, value in changes]}],
                **how).responses[0].error_code
            levels = lambda: {entry.name: entry.value for entry in connection.call("DescribeConfigs", 4, resources=[
                {"resource_type": 8, "resource_name": "1", "configuration_keys": None}]).results[0].configs}
            before = levels()
            self.assertEqual((before["root"], before["groups"]), ("INFO", "INFO"))
            self.assertEqual(alter("1", ("groups", 0, "DEBUG")), 0)
            self.assertEqual(levels(), {**before, "groups": "DEBUG"})
            self.assertEqual(alter("1", ("groups", 0, "WARN"), validate_only=True), 0)
            self.assertEqual(levels()["groups"], "DEBUG")
            self.assertEqual(alter("1", ("groups", 1, None)), 0)
            self.assertEqual(levels(), before)
            self.assertEqual(alter("1", ("nobody", 0, "DEBUG")), 40)  # INVALID_CONFIG
            self.assertEqual(alter("1", ("root", 1, None)), 42)  # INVALID_REQUEST
            self.assertEqual(alter("1", ("root", 0, None)), 42)
            self.assertEqual(alter("2", ("root", 0, "DEBUG")), 42)

    def test_subscriptions_to_metrics_are_resources(self):
        with Connection(self.broker) as connection:
            alter = lambda name, key, operation, value: connection.call("IncrementalAlterConfigs", 1, resources=[
                {"resource_type": 16, "resource_name": name,
                 "configs": [{"name": key, "config_operation": operation, "value": value}]}]).responses[0].error_code
            listed = lambda: [entry.resource_name for entry in
                              connection.call("ListConfigResources", 1, resource_types=[16]).config_resources]
            self.assertEqual(listed(), [])
            self.assertEqual(alter("all", "interval.ms", 0, "5000"), 0)
            self.assertEqual(listed(), ["all"])
            described = connection.call("DescribeConfigs", 4, resources=[
                {"resource_type": 16, "resource_name": "all", "configuration_keys": None}]).results[0].configs
            self.assertEqual([(entry.name, entry.value, entry.config_source) for entry in described],
                             [("interval.ms", "5000", 7), ("match", "", 5), ("metrics", "", 5)])
            self.assertEqual(alter("all", "interval.ms", 0, "5"), 42)
            self.assertEqual(alter("all", "interval.ms", 1, None), 0)
            self.assertEqual(listed(), [])

    def test_the_log_level_is_changed_while_the_broker_runs(self):
        self.set(BROKER, "1", naru_log_level="error")
        self.set(BROKER, "1")
        self.assertEqual(self.describe(BROKER, "1")["naru.log.level"].value, "info")

    def test_bad_input_is_named_and_nothing_is_half_created(self):
        before = self.names()
        table = [
            (NewTopic("bad name", 1, 1), "TOPIC_EXCEPTION", "letters, digits"),
            (NewTopic("x" * 250, 1, 1), "TOPIC_EXCEPTION", "at most 249"),
            (NewTopic("..", 1, 1), "TOPIC_EXCEPTION", "'..' cannot be a topic name"),
            (NewTopic("many", 10001, 1), "POLICY_VIOLATION", "10001 partitions: a topic has at most 10000"),
            (NewTopic("copies", 1, 2), "INVALID_REPLICATION_FACTOR", "replication factor 2 needs as many brokers, and 1 are"),
            (NewTopic("key", 1, 1, config={"dummy.doesntexist": "1"}), "INVALID_CONFIG", "'dummy.doesntexist'"),
            (NewTopic("value", 1, 1, config={"retention.ms": "soon"}), "INVALID_CONFIG",
             "retention.ms must be an integer from -1 to 9223372036854775807, not 'soon'"),
            (NewTopic("both", 1, 1, config={"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}), "INVALID_CONFIG",
             "min.compaction.lag.ms (9) cannot be larger than max.compaction.lag.ms (8)"),
            (NewTopic("placed", 1, replica_assignment=[[7]]), "INVALID_REPLICA_ASSIGNMENT", "broker 7, which is not there"),
        ]
        for topic, code, message in table:
            name, text = self.refusal(self.admin.create_topics([topic]))
            self.assertTrue(name.endswith(code), f"{name} is not {code}")
            self.assertIn(message, text)
        self.assertEqual(self.names(), before)
        self.assertEqual({folder for folder in os.listdir(self.broker.data) if not folder.startswith(("__", "naru"))} &
                         {"many-0", "copies-0", "key-0", "value-0", "both-0", "placed-0"}, set())

    def test_validate_only_creates_nothing(self):
        self.admin.create_topics([NewTopic("maybe", 3, 1)], validate_only=True)["maybe"].result(PATIENCE_S)
        self.assertNotIn("maybe", self.names())

    def test_unknown_resources_are_refused(self):
        self.assertEqual(self.refusal(self.alter(TOPIC, "nobody", retention_ms="5"))[0], "UNKNOWN_TOPIC_OR_PART")
        self.assertEqual(self.refusal(self.admin.describe_configs([ConfigResource(TOPIC, "nobody")]))[0],
                         "UNKNOWN_TOPIC_OR_PART")

    def test_many_partitions_leave_the_broker_responsive(self):
        self.create("busy")
        creating = self.admin.create_topics([NewTopic("wide", 2000, 1)], request_timeout=PATIENCE_S)["wide"]
        while not creating.done():
            self.assertIsNone(self.produce("busy", 100))
        creating.result()
        self.assertEqual(len(self.admin.list_topics("wide", timeout=PATIENCE_S).topics["wide"].partitions), 2000)
        self.admin.delete_topics(["wide"], request_timeout=PATIENCE_S)["wide"].result(PATIENCE_S)


class KafkasKeysTest(unittest.TestCase):
    """Keys that stand in the files of Kafka's brokers."""

    def setUp(self):
        self.broker = Broker("--set", "transaction.state.log.min.isr=1", "--set", "listener.security.protocol.map=INSIDE:PLAINTEXT",
                             "--set", "inter.broker.listener.name=INSIDE", "--set", "listeners=PLAINTEXT://127.0.0.1:0,INSIDE://127.0.0.1:0",
                             "--set", "num.recovery.threads.per.data.dir=1", "--set", "socket.send.buffer.bytes=102400")
        self.addCleanup(self.broker.close)

    def test_they_are_obeyed_or_named_in_the_log(self):
        told = [line for line in self.broker.lines if "has no effect" in line]
        self.assertEqual(len(told), 2, told)
        with Connection(self.broker) as connection:
            connection.call("FindCoordinator", 4, key_type=1, coordinator_keys=["t"])
            described = lambda kind, name, key: connection.call("DescribeConfigs", 4, resources=[
                {"resource_type": kind, "resource_name": name, "configuration_keys": [key]}]).results[0].configs[0]
            entry = described(2, "__transaction_state", "min.insync.replicas")
            self.assertEqual((entry.value, entry.config_source), ("1", ConfigSource.DYNAMIC_TOPIC_CONFIG.value))
            listeners = described(4, "1", "listeners").value.split(",")
            self.assertEqual([listener.split("://")[0] for listener in listeners], ["PLAINTEXT", "INSIDE"])
            self.assertEqual(described(4, "1", "inter.broker.listener.name").value, "INSIDE")


class FailedDeletionTest(unittest.TestCase):
    def unmount(self):
        """A mount keeps even root from removing what it is in. The folder may have been renamed meanwhile."""
        for found, names, _ in os.walk(self.broker.data):
            if "held" in names and os.path.ismount(os.path.join(found, "held")):
                self.assertEqual(os.system(f"umount {os.path.join(found, 'held')}"), 0)

    def test_data_that_could_not_be_removed_is_told_and_tried_again(self):
        self.broker = Broker()
        self.addCleanup(self.broker.close)
        admin = AdminClient({"bootstrap.servers": self.broker.address})
        for name in ["stuck", "other"]:
            admin.create_topics([NewTopic(name, 1, 1)])[name].result(PATIENCE_S)
        held = os.path.join(self.broker.data, "stuck-0", "held")
        os.mkdir(held)
        if os.system(f"mount -t tmpfs none {held} 2>/dev/null") != 0:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(self.unmount)
        with self.assertRaises(KafkaException) as refused:
            admin.delete_topics(["stuck"])["stuck"].result(PATIENCE_S)
        self.assertEqual(refused.exception.args[0].name(), "KAFKA_STORAGE_ERROR")
        self.assertNotIn("stuck", admin.list_topics(timeout=PATIENCE_S).topics)
        self.unmount()
        admin.delete_topics(["other"])["other"].result(PATIENCE_S)
        self.assertFalse([name for name in os.listdir(self.broker.data) if name.startswith("stuck")])


class FullDiskTest(unittest.TestCase):
    """A data folder in a file system of its own, which is then filled."""

    def fill(self):
        with open(os.path.join(self.disk.path, "filler"), "wb", buffering=0) as filler:
            for size in [1 << 20, 4096, 1]:
                try:
                    while filler.write(b"x" * size) == size:
                        pass
                except OSError as problem:
                    self.assertEqual(problem.errno, errno.ENOSPC)

    def create(self, name):
        self.admin.create_topics([NewTopic(name, 4, 1)])[name].result(PATIENCE_S)

    def delete(self, name):
        self.admin.delete_topics([name])[name].result(PATIENCE_S)

    def names(self):
        return set(self.admin.list_topics(timeout=PATIENCE_S).topics)

    def refused(self, name):
        with self.assertRaises(KafkaException) as refused:
            self.create(name)
        self.assertEqual(refused.exception.args[0].name(), "KAFKA_STORAGE_ERROR")
        self.assertNotIn(name, self.names())

    def test_deleting_goes_on_creating_is_refused_and_works_again_when_there_is_space(self):
        self.disk = SmallDisk(64, "-O", "^has_journal")
        self.addCleanup(self.disk.close)
        self.broker = Broker(data=os.path.join(self.disk.path, "data"))
        self.addCleanup(self.broker.close)
        self.admin = AdminClient({"bootstrap.servers": self.broker.address})
        for name in ["a", "b", "c"]:
            self.create(name)
        self.fill()
        self.refused("no-room")
        self.delete("a")
        self.assertEqual(self.names(), {"b", "c"})
        self.fill()
        self.broker.kill()
        self.broker.start()
        self.assertEqual(self.names(), {"b", "c"}, "it starts on a full disk")
        self.refused("no-room")
        self.delete("b")
        os.unlink(os.path.join(self.disk.path, "filler"))
        self.create("room")
        self.assertEqual(self.names(), {"c", "room"})
        self.assertEqual(self.broker.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
