"""What becomes of old data: retention by size and time, DeleteRecords, compaction; with stock clients."""

import os
import struct
import time
import unittest

from confluent_kafka import KafkaError, TopicPartition

from confluent_test import create_topic, producer, read_all, reader
from naru_process import PATIENCE_S, Broker, frame, kcat, read_frame, wait_until

QUICK = ["--set", "log.retention.check.interval.ms=100", "--set", "log.cleaner.backoff.ms=100"]


def watermarks(broker, topic):
    consumer = reader(broker, topic)
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE_S)
    finally:
        consumer.close()


def produce(broker, topic, records, **config):
    failures = []

    def delivered(error, _):
        if error is not None:
            failures.append(error)

    client = producer(broker, **config)
    for key, value in records:
        client.produce(topic, key=key, value=value, partition=0, on_delivery=delivered)
        client.poll(0)
    client.flush(PATIENCE_S)
    return failures


def delete_records(broker, topic, offset):
    """DeleteRecords v0 for partition 0: (error code, low watermark)."""
    name = topic.encode()
    body = struct.pack(">ih", 1, len(name)) + name + struct.pack(">iiqi", 1, 0, offset, 1000)
    with broker.connect() as sock:
        sock.sendall(frame(21, 0, body))
        answer = read_frame(sock)
    partition, low, error = struct.unpack(">iqh", answer[-14:])
    assert partition == 0
    return error, low


def partition_bytes(broker, topic):
    folder = os.path.join(broker.data, f"{topic}-0")
    total = 0
    for name in os.listdir(folder):
        try:
            if name.endswith(".log"):
                total += os.path.getsize(os.path.join(folder, name))
        except FileNotFoundError:
            pass
    return total


class RetentionTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker(*QUICK)

    def tearDown(self):
        self.broker.close()

    def test_by_size_the_oldest_segments_go_and_the_rest_is_whole(self):
        create_topic(self.broker, "sized", segment_bytes=20_000, retention_bytes=60_000)
        values = [b"%06d" % i + b"x" * 994 for i in range(400)]
        self.assertEqual(produce(self.broker, "sized", [(None, value) for value in values], linger_ms=0, batch_num_messages=10), [])
        wait_until(lambda: partition_bytes(self.broker, "sized") <= 80_000, "the log shrinks", self.broker)
        low, high = watermarks(self.broker, "sized")
        self.assertGreater(low, 200)
        self.assertEqual(high, 400)
        self.assertEqual([message.value() for message in read_all(self.broker, "sized")], values[low:])
        self.broker.kill()
        self.broker.start()
        self.assertGreaterEqual(watermarks(self.broker, "sized")[0], low)

    def test_by_time_everything_goes_also_without_a_new_record(self):
        create_topic(self.broker, "timed", retention_ms=300)
        self.assertEqual(produce(self.broker, "timed", [(None, b"old")] * 50), [])
        wait_until(lambda: watermarks(self.broker, "timed") == (50, 50), "everything expires", self.broker)
        self.assertEqual(read_all(self.broker, "timed"), [])
        self.broker.terminate()
        self.broker.start()
        self.assertEqual(watermarks(self.broker, "timed"), (50, 50))

    def test_timestamps_in_the_future_do_not_keep_data(self):
        create_topic(self.broker, "future", retention_ms=300, message_timestamp_after_max_ms=10**15)
        client = producer(self.broker)
        client.produce("future", b"from tomorrow", timestamp=int(time.time() * 1000) + 86_400_000, partition=0)
        client.flush(PATIENCE_S)
        wait_until(lambda: watermarks(self.broker, "future") == (1, 1), "it expires", self.broker)

    def test_delete_records_moves_the_start_for_good(self):
        create_topic(self.broker, "deleted")
        self.assertEqual(produce(self.broker, "deleted", [(None, b"%d" % i) for i in range(100)]), [])
        self.assertEqual(delete_records(self.broker, "deleted", 30), (0, 30))
        self.assertEqual(delete_records(self.broker, "deleted", 10), (0, 30))
        self.assertEqual(delete_records(self.broker, "deleted", 101)[0], KafkaError.OFFSET_OUT_OF_RANGE)
        self.assertEqual(read_all(self.broker, "deleted")[0].offset(), 30)
        self.broker.kill()
        self.broker.start()
        self.assertEqual(watermarks(self.broker, "deleted"), (30, 100))
        self.assertEqual(delete_records(self.broker, "deleted", -1), (0, 100))
        self.assertEqual(read_all(self.broker, "deleted"), [])
        self.assertEqual(delete_records(self.broker, "missing", 0)[0], KafkaError.UNKNOWN_TOPIC_OR_PART)


class CompactionTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker(*QUICK)

    def tearDown(self):
        self.broker.close()

    def state(self, topic):
        """What a reader from the beginning knows in the end, and how many records it took."""
        values = {}
        messages = read_all(self.broker, topic)
        for message in messages:
            if message.value() is None:
                values.pop(message.key(), None)
            else:
                values[message.key()] = message.value()
        return values, len(messages)

    def test_the_last_value_of_each_key_is_left(self):
        for codec in ["none", "zstd"]:
            topic = f"compacted-{codec}"
            create_topic(self.broker, topic, cleanup_policy="compact", segment_bytes=20_000, segment_ms=1_000,
                         min_cleanable_dirty_ratio=0.01, delete_retention_ms=100)
            expected = {}
            records = []
            for i in range(3000):
                key = b"key %d" % (i * i % 97)
                value = None if i % 11 == 0 else b"value %d" % i + b"." * 50
                records.append((key, value))
                if value is None:
                    expected.pop(key, None)
                else:
                    expected[key] = value
            self.assertEqual(produce(self.broker, topic, records, compression_type=codec, batch_num_messages=50), [])
            self.assertEqual(self.state(topic)[0], expected)
            wait_until(lambda: self.state(topic)[1] <= len(expected) + 300, "the log is compacted", self.broker)
            self.assertEqual(self.state(topic)[0], expected)
            self.assertEqual(watermarks(self.broker, topic), (0, 3000), "offsets do not change")

            self.broker.kill()
            self.broker.start()
            self.assertEqual(self.state(topic)[0], expected)
            # The last segment is closed by its age, and delete markers go when their time has come.
            wait_until(lambda: self.state(topic)[1] == len(expected), "nothing else is left", self.broker)
            self.assertEqual(self.state(topic)[0], expected)
            by_kcat = kcat(self.broker, "-C", "-t", topic, "-o", "beginning", "-e", "-f", "%k=%s\n")
            self.assertEqual(dict(line.split(b"=", 1) for line in by_kcat.splitlines()), expected)

    def test_readers_arrive_at_the_end_when_everything_was_deleted(self):
        create_topic(self.broker, "emptied", cleanup_policy="compact", segment_bytes=2_000, segment_ms=300,
                     min_cleanable_dirty_ratio=0.01, delete_retention_ms=100)
        keys = [b"key %d" % i for i in range(50)]
        self.assertEqual(produce(self.broker, "emptied", [(key, b"value") for key in keys], linger_ms=0, batch_num_messages=10), [])
        self.assertEqual(produce(self.broker, "emptied", [(key, None) for key in keys], linger_ms=0, batch_num_messages=10), [])
        # read_all() ends when librdkafka is at the end of the partition.
        wait_until(lambda: self.state("emptied") == ({}, 1), "only the last delete marker is left", self.broker)
        self.assertEqual(watermarks(self.broker, "emptied"), (0, 100))
        self.assertEqual(kcat(self.broker, "-C", "-t", "emptied", "-o", "beginning", "-e", "-f", "%o %k\n"),
                         b"99 key 49\n")

    def test_idempotent_producers_go_on_after_their_records_were_compacted(self):
        create_topic(self.broker, "sequences", cleanup_policy="compact", segment_bytes=2_000, segment_ms=500,
                     min_cleanable_dirty_ratio=0.01)
        client = producer(self.broker, enable_idempotence=True, linger_ms=0)
        failures = []

        def delivered(error, _):
            if error is not None:
                failures.append(error)

        for i in range(500):
            client.produce("sequences", key=b"only", value=b"%d" % i, partition=0, on_delivery=delivered)
            if i % 100 == 99:
                client.flush(PATIENCE_S)
                wait_until(lambda: self.state("sequences")[1] <= 50, "the log is compacted", self.broker)
                self.broker.kill()
                self.broker.start()
        client.flush(PATIENCE_S)
        self.assertEqual(failures, [])
        self.assertEqual(self.state("sequences")[0], {b"only": b"499"})

    def test_records_without_a_key_and_delete_records_are_refused(self):
        create_topic(self.broker, "keyed", cleanup_policy="compact")
        failures = produce(self.broker, "keyed", [(None, b"no key")])
        self.assertEqual([error.code() for error in failures], [KafkaError.INVALID_RECORD])
        self.assertEqual(delete_records(self.broker, "keyed", 0)[0], KafkaError.POLICY_VIOLATION)
        create_topic(self.broker, "both", cleanup_policy="compact,delete", retention_ms=300)
        self.assertEqual(produce(self.broker, "both", [(b"k", b"v")]), [])
        wait_until(lambda: watermarks(self.broker, "both") == (1, 1), "it expires", self.broker)


if __name__ == "__main__":
    unittest.main()
