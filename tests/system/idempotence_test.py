"""Idempotent producers of stock clients: nothing is lost, doubled or reordered, also across kill -9."""

import struct
import threading
import time
import unittest

from confluent_test import create_topic, producer, read_all
from naru_process import PATIENCE_S, Broker, frame, kcat, read_frame

INIT_PRODUCER_ID = 22


def produce_numbers(client, topic, stop, failures, partitions=1):
    """Consecutive numbers to each partition until told to stop; how many were handed over."""
    count = 0
    delivered = lambda error, message: failures.append(error) if error else None
    while not stop.is_set():
        for partition in range(partitions):
            client.produce(topic, b"%d" % count, partition=partition, on_delivery=delivered)
        count += 1
        client.poll(0)
        while len(client) > 5000 and not stop.is_set():
            client.poll(0.05)
    return count


class IdempotenceTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker()
        self.addCleanup(self.broker.close)

    def ask_for_id(self, body):
        with self.broker.connect() as sock:
            sock.sendall(frame(INIT_PRODUCER_ID, 0, body))
            return struct.unpack(">iihqh", read_frame(sock))

    def test_kcat_produces_with_idempotence(self):
        lines = b"".join(b"%d\n" % i for i in range(5000))
        kcat(self.broker, "-P", "-t", "plain", "-p", "0", "-X", "enable.idempotence=true", stdin=lines)
        self.assertEqual(kcat(self.broker, "-C", "-t", "plain", "-p", "0", "-e"), lines)

    def test_kill_9_in_the_middle_of_producing_loses_doubles_and_reorders_nothing(self):
        create_topic(self.broker, "crash", partitions=2, segment_bytes=300_000)
        # All librdkafka allows to be in flight, and patience: retries go on for as long as it takes.
        client = producer(self.broker, enable_idempotence=True, linger_ms=1, message_timeout_ms=60000,
                          batch_num_messages=200, retry_backoff_ms=20, reconnect_backoff_ms=20,
                          reconnect_backoff_max_ms=100)
        stop = threading.Event()
        failures = []
        counts = []
        thread = threading.Thread(
            target=lambda: counts.append(produce_numbers(client, "crash", stop, failures, partitions=2)))
        thread.start()
        for _ in range(4):
            time.sleep(0.7)
            self.broker.kill()
            self.broker.start()
        time.sleep(0.7)
        stop.set()
        thread.join()
        self.assertEqual(client.flush(PATIENCE_S), 0)
        self.assertEqual(failures, [])
        self.assertGreater(counts[0], 2000)
        for partition in range(2):
            numbers = [int(message.value()) for message in read_all(self.broker, "crash", partition)]
            self.assertEqual(numbers, list(range(counts[0])), f"partition {partition}")

    def test_a_clean_restart_between_two_batches_of_a_producer(self):
        create_topic(self.broker, "restart")
        client = producer(self.broker, enable_idempotence=True, retry_backoff_ms=20, reconnect_backoff_max_ms=100)
        failures = []
        delivered = lambda error, message: failures.append(error) if error else None
        for part in range(3):
            for i in range(10):
                client.produce("restart", b"%d" % (10 * part + i), partition=0, on_delivery=delivered)
            self.assertEqual(client.flush(PATIENCE_S), 0)
            self.assertEqual(self.broker.terminate(), 0)
            self.broker.start()
        self.assertEqual(failures, [])
        self.assertEqual([int(m.value()) for m in read_all(self.broker, "restart")], list(range(30)))

    def test_ids_are_never_given_twice(self):
        ids = set()
        for round in range(3):
            for _ in range(5):
                _, _, error, producer_id, epoch = self.ask_for_id(struct.pack(">hi", -1, 0))
                self.assertEqual((error, epoch), (0, 0))
                self.assertNotIn(producer_id, ids)
                ids.add(producer_id)
            self.broker.kill()
            self.broker.start()


if __name__ == "__main__":
    unittest.main()
