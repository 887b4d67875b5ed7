"""python3-confluent-kafka (librdkafka): volume, order, crashes, long polling."""

import hashlib
import threading
import time
import unittest

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from naru_process import PATIENCE_S, Broker


def producer(broker, **config):
    return Producer({"bootstrap.servers": broker.address, **{key.replace("_", "."): value for key, value in config.items()}})


def reader(broker, topic, partition=0, offset=OFFSET_BEGINNING, **config):
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "none", "enable.auto.commit": False,
                         "enable.partition.eof": True, **{key.replace("_", "."): value for key, value in config.items()}})
    consumer.assign([TopicPartition(topic, partition, offset)])
    return consumer


def create_topic(broker, name, partitions=1, **config):
    admin = AdminClient({"bootstrap.servers": broker.address})
    new = NewTopic(name, num_partitions=partitions, replication_factor=1,
                   config={key.replace("_", "."): str(value) for key, value in config.items()})
    admin.create_topics([new])[name].result(PATIENCE_S)


def read_all(broker, topic, partition=0):
    """Messages from the beginning to the end of a partition."""
    consumer = reader(broker, topic, partition)
    messages = []
    while True:
        for message in consumer.consume(10000, timeout=0.2):
            if message.error() is None:
                messages.append(message)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                consumer.close()
                return messages
            else:
                raise KafkaException(message.error())


class ConfluentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()

    @classmethod
    def tearDownClass(cls):
        cls.broker.close()

    def test_a_million_messages_in_order_with_checksum(self):
        count = 1_000_000
        create_topic(self.broker, "million")
        client = producer(self.broker, linger_ms=20, queue_buffering_max_messages=200000, compression_type="lz4")
        sent = hashlib.sha256()
        failures = []
        delivered = lambda error, message: failures.append(error) if error else None
        for i in range(count):
            value = b"message %d" % i
            sent.update(value)
            while True:
                try:
                    client.produce("million", value, partition=0, on_delivery=delivered)
                    break
                except BufferError:
                    client.poll(0.1)
            if i % 10000 == 0:
                client.poll(0)
        self.assertEqual(client.flush(PATIENCE_S), 0)
        self.assertEqual(failures, [])

        received = hashlib.sha256()
        messages = read_all(self.broker, "million")
        self.assertEqual(len(messages), count)
        for expected, message in enumerate(messages):
            received.update(message.value())
            if message.offset() != expected:
                self.fail(f"offset {message.offset()} where {expected} belongs")
        self.assertEqual(received.hexdigest(), sent.hexdigest())

    def test_acks_0_1_and_all(self):
        create_topic(self.broker, "acks")
        for acks in ["0", "1", "all"]:
            client = producer(self.broker, acks=acks)
            for i in range(100):
                client.produce("acks", f"{acks} {i}", partition=0)
            self.assertEqual(client.flush(PATIENCE_S), 0)
        deadline = time.monotonic() + PATIENCE_S  # acks=0 does not say when it is there
        while len(read_all(self.broker, "acks")) < 300 and time.monotonic() < deadline:
            pass
        self.assertEqual([m.value().decode() for m in read_all(self.broker, "acks")],
                         [f"{acks} {i}" for acks in ["0", "1", "all"] for i in range(100)])

    def test_the_largest_message_passes_and_a_larger_one_is_refused(self):
        create_topic(self.broker, "large")
        client = producer(self.broker, message_max_bytes=4_000_000)
        results = []
        for size in [1_048_588 - 200, 1_048_588 + 1]:
            client.produce("large", b"x" * size, partition=0, on_delivery=lambda error, message: results.append(error))
            client.flush(PATIENCE_S)
        self.assertIsNone(results[0])
        self.assertEqual(results[1].code(), KafkaError.MSG_SIZE_TOO_LARGE)
        self.assertEqual([len(m.value()) for m in read_all(self.broker, "large")], [1_048_588 - 200])

    def test_timestamps_headers_and_nulls(self):
        create_topic(self.broker, "kinds")
        client = producer(self.broker)
        client.produce("kinds", b"v", b"k", partition=0, timestamp=1234567890123, headers=[("a", b"1"), ("a", b"2"), ("n", None)])
        client.produce("kinds", None, None, partition=0)
        client.produce("kinds", b"", b"", partition=0)
        client.flush(PATIENCE_S)
        first, second, third = read_all(self.broker, "kinds")
        self.assertEqual(first.timestamp(), (1, 1234567890123))
        self.assertEqual(first.headers(), [("a", b"1"), ("a", b"2"), ("n", None)])
        self.assertEqual((second.key(), second.value()), (None, None))
        self.assertEqual((third.key(), third.value()), (b"", b""))

    def test_log_append_time_is_the_brokers(self):
        create_topic(self.broker, "stamped", message_timestamp_type="LogAppendTime")
        client = producer(self.broker)
        before = int(time.time() * 1000)
        client.produce("stamped", b"v", partition=0, timestamp=5)
        client.flush(PATIENCE_S)
        kind, timestamp = read_all(self.broker, "stamped")[0].timestamp()
        self.assertEqual(kind, 2)
        self.assertGreaterEqual(timestamp, before)

    def test_topics_are_created_described_and_deleted(self):
        admin = AdminClient({"bootstrap.servers": self.broker.address})
        create_topic(self.broker, "short-lived", partitions=3)
        self.assertEqual(len(admin.list_topics(timeout=PATIENCE_S).topics["short-lived"].partitions), 3)
        with self.assertRaises(KafkaException) as again:
            create_topic(self.broker, "short-lived")
        self.assertEqual(again.exception.args[0].code(), KafkaError.TOPIC_ALREADY_EXISTS)
        with self.assertRaises(KafkaException) as unknown:
            create_topic(self.broker, "odd", dummy_doesntexist=1)
        self.assertEqual(unknown.exception.args[0].code(), KafkaError.INVALID_CONFIG)
        admin.delete_topics(["short-lived"])["short-lived"].result(PATIENCE_S)
        self.assertNotIn("short-lived", admin.list_topics(timeout=PATIENCE_S).topics)

    def test_a_waiting_consumer_costs_nothing_and_is_woken_at_once(self):
        create_topic(self.broker, "quiet")
        consumer = reader(self.broker, "quiet", fetch_wait_max_ms=5000)
        self.assertEqual(consumer.poll(PATIENCE_S).error().code(), KafkaError._PARTITION_EOF)
        before = self.broker.cpu_seconds()
        self.assertIsNone(consumer.poll(3))
        self.assertLessEqual(self.broker.cpu_seconds() - before, 0.03, "three seconds of waiting")

        client = producer(self.broker, linger_ms=0)
        client.list_topics("quiet", PATIENCE_S)  # connected before the clock runs
        latencies = []
        for _ in range(20):
            began = time.monotonic()
            client.produce("quiet", b"wake up", partition=0)
            client.poll(0)
            message = consumer.poll(PATIENCE_S)
            while message is None or message.error() is not None:
                message = consumer.poll(PATIENCE_S)
            latencies.append(time.monotonic() - began)
        consumer.close()
        self.assertLess(sorted(latencies)[10], 1.0, "much less than the five seconds that the fetch would wait")


class CrashTest(unittest.TestCase):
    def test_kill_9_in_the_middle_of_producing_loses_nothing_acknowledged_and_keeps_the_order(self):
        broker = Broker()
        self.addCleanup(broker.close)
        create_topic(broker, "crash", segment_bytes=1_000_000)
        acknowledged = {}
        stop = threading.Event()
        # One in flight: only then does a retry keep the order without idempotence.
        client = producer(broker, acks="all", linger_ms=1, max_in_flight=1, message_timeout_ms=60000, retry_backoff_ms=50,
                          reconnect_backoff_max_ms=200)

        def delivered(error, message):
            if error is None:
                acknowledged[message.offset()] = message.value()

        def produce():
            i = 0
            while not stop.is_set():
                client.produce("crash", b"%d" % i, partition=0, on_delivery=delivered)
                i += 1
                client.poll(0)
                if len(client) > 2000:
                    client.poll(0.05)

        thread = threading.Thread(target=produce)
        thread.start()
        for _ in range(3):
            time.sleep(1.0)
            broker.kill()
            broker.start()
        time.sleep(1.0)
        stop.set()
        thread.join()
        self.assertEqual(client.flush(PATIENCE_S), 0)

        self.assertGreater(len(acknowledged), 1000)
        messages = read_all(broker, "crash")
        stored = {m.offset(): m.value() for m in messages}
        for offset, value in acknowledged.items():
            self.assertEqual(stored.get(offset), value, f"acknowledged at {offset}")
        numbers = [int(m.value()) for m in messages]
        # A batch whose acknowledgement was lost is sent again: doubled as a block, never overtaken by a later one.
        highest = -1
        for number in dict.fromkeys(numbers):
            self.assertGreater(number, highest)
            highest = number
        self.assertEqual(broker.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
