"""python3-kafka, a client with a codec of its own and old versions of every API: producing, reading, administration."""

import unittest

import kafka.codec
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import (InvalidConfigurationError, InvalidPartitionsError, InvalidReplicationFactorError,
                          InvalidTopicError, TopicAlreadyExistsError, UnknownTopicOrPartitionError)

from naru_process import PATIENCE_S, Broker

# gzip needs nothing; the others need modules that may be absent.
CODECS = [None, "gzip"] + [name for name in ["snappy", "lz4", "zstd"] if getattr(kafka.codec, f"has_{name}")()]


class KafkaPythonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()
        cls.admin = KafkaAdminClient(bootstrap_servers=cls.broker.address)

    @classmethod
    def tearDownClass(cls):
        cls.admin.close()
        cls.broker.close()

    def create(self, name, partitions=1, replicas=1, **configs):
        configs = {key.replace("_", "."): str(value) for key, value in configs.items()}
        self.admin.create_topics([NewTopic(name, partitions, replicas, topic_configs=configs)])

    def read(self, topic, count, partition=0, **how):
        consumer = KafkaConsumer(bootstrap_servers=self.broker.address, consumer_timeout_ms=PATIENCE_S * 1000, **how)
        consumer.assign([TopicPartition(topic, partition)])
        consumer.seek_to_beginning()
        messages = []
        for message in consumer:
            messages.append(message)
            if len(messages) == count:
                break
        consumer.close()
        return messages

    def test_every_codec_with_keys_headers_and_timestamps(self):
        self.create("codecs")
        expected = []
        for codec in CODECS:
            client = KafkaProducer(bootstrap_servers=self.broker.address, compression_type=codec, linger_ms=50, acks="all")
            for i in range(50):
                value, key = f"{codec} {i} ".encode() * 20, b"key %d" % i if i % 3 else None
                headers = [("codec", str(codec).encode()), ("again", b"1"), ("again", b"2")]
                client.send("codecs", value, key, headers, partition=0, timestamp_ms=1_700_000_000_000 + i)
                expected.append((key, value, headers, 1_700_000_000_000 + i))
            client.close(timeout=PATIENCE_S)
        read = self.read("codecs", len(expected))
        self.assertEqual([(m.key, m.value, list(m.headers), m.timestamp) for m in read], expected)
        self.assertEqual([m.offset for m in read], list(range(len(expected))))

    def test_acks_and_metadata_of_what_was_sent(self):
        self.create("acks")
        offsets = []
        for acks in [1, "all"]:
            client = KafkaProducer(bootstrap_servers=self.broker.address, acks=acks)
            offsets += [client.send("acks", b"x", partition=0).get(PATIENCE_S).offset for _ in range(3)]
            client.close()
        self.assertEqual(offsets, list(range(6)))

    def test_positions_by_time_beginning_and_end(self):
        self.create("times")
        client = KafkaProducer(bootstrap_servers=self.broker.address)
        for i in range(10):
            client.send("times", b"x", partition=0, timestamp_ms=1_700_000_000_000 + 1000 * i)
        client.close()
        partition = TopicPartition("times", 0)
        consumer = KafkaConsumer(bootstrap_servers=self.broker.address)
        self.assertEqual(consumer.beginning_offsets([partition]), {partition: 0})
        self.assertEqual(consumer.end_offsets([partition]), {partition: 10})
        found = consumer.offsets_for_times({partition: 1_700_000_003_500})[partition]
        self.assertEqual((found.offset, found.timestamp), (4, 1_700_000_004_000))
        consumer.close()

    def test_topics_are_created_grown_and_deleted(self):
        self.create("life", 2)
        self.assertIn("life", self.admin.list_topics())
        with self.assertRaises(TopicAlreadyExistsError):
            self.create("life")
        self.admin.create_partitions({"life": NewPartitions(4)})
        self.assertEqual(len(self.admin.describe_topics(["life"])[0]["partitions"]), 4)
        with self.assertRaises(InvalidPartitionsError):
            self.admin.create_partitions({"life": NewPartitions(3)})
        self.admin.delete_topics(["life"])
        with self.assertRaises(UnknownTopicOrPartitionError):
            self.admin.delete_topics(["life"])

    def test_bad_input(self):
        for error, name, how in [(InvalidTopicError, "a b", {}), (InvalidReplicationFactorError, "copies", {"replicas": 3}),
                                 (InvalidPartitionsError, "none", {"partitions": 0}),
                                 (InvalidConfigurationError, "key", {"no_such_key": 1}),
                                 (InvalidConfigurationError, "value", {"retention_ms": "x"})]:
            with self.assertRaises(error):
                self.create(name, **how)
            self.assertNotIn(name, self.admin.list_topics())

    def test_configuration_is_described_and_altered(self):
        self.create("configured", retention_ms=1000)
        self.admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "configured", {"segment.bytes": "5000"})])
        described = self.describe(ConfigResourceType.TOPIC, "configured")
        self.assertEqual((described["segment.bytes"], described["retention.ms"]), ("5000", "1209600000"),
                         "AlterConfigs replaces everything")
        self.assertEqual(self.describe(ConfigResourceType.BROKER, "1")["num.partitions"], "4")

    def describe(self, kind, name):
        answers = self.admin.describe_configs([ConfigResource(kind, name)])
        error, message, _, _, entries = answers[0].resources[0]
        self.assertEqual((error, message or ""), (0, ""))
        return {entry[0]: entry[1] for entry in entries}

    def test_the_cluster(self):
        described = self.admin.describe_cluster()
        self.assertEqual([broker["node_id"] for broker in described["brokers"]], [1])
        self.assertEqual(described["controller_id"], 1)


if __name__ == "__main__":
    unittest.main()
