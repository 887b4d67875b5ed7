"""More partitions than file descriptors: all of them take records and give them back."""

import os
import resource
import struct
import unittest

from naru_process import Broker, frame
from raw_client import FETCH, PRODUCE, RawClient, batch

DESCRIPTORS = 256
PARTITIONS = 500
NEVER = str(2**63 - 1)


def produce_to_all(client, topic, records):
    """One request with a batch for each partition; {partition: error}."""
    name = topic.encode()
    body = struct.pack(">hhiih", -1, -1, 30000, 1, len(name)) + name + struct.pack(">i", len(records))
    for partition, content in records.items():
        body += struct.pack(">ii", partition, len(content)) + content
    answer = client.call(frame(PRODUCE, 3, body))
    at = 4 + 4 + 2 + len(name)
    (count,) = struct.unpack(">i", answer[at:at + 4])
    return dict(struct.unpack(">ih", answer[at + 4 + i * 22:at + 4 + i * 22 + 6]) for i in range(count))


def fetch_from_all(client, topic, offsets):
    """One request for all of these partitions; {partition: (error, bytes of whole batches)}."""
    name = topic.encode()
    body = struct.pack(">iiiib", -1, 1000, 1 << 20, 1 << 24, 0)
    body += struct.pack(">ih", 1, len(name)) + name + struct.pack(">i", len(offsets))
    for partition, offset in offsets.items():
        body += struct.pack(">iqi", partition, offset, 1 << 16)
    answer = client.call(frame(FETCH, 4, body))
    at = 4 + 4 + 4 + 2 + len(name)
    (count,) = struct.unpack(">i", answer[at:at + 4])
    at += 4
    found = {}
    for _ in range(count):
        partition, error = struct.unpack(">ih", answer[at:at + 6])
        (size,) = struct.unpack(">i", answer[at + 26:at + 30])
        found[partition] = (error, answer[at + 30:at + 30 + max(size, 0)])
        at += 30 + max(size, 0)
    return found


class ManyPartitionsTest(unittest.TestCase):
    def write(self, client, topic, number):
        records = {partition: batch([b"%s %d %d" % (topic.encode(), partition, number)]) for partition in range(PARTITIONS)}
        self.assertEqual(set(produce_to_all(client, topic, records).values()), {0})

    def read(self, client, topic, number):
        """Every partition has its record at this offset."""
        missing = dict.fromkeys(range(PARTITIONS), number)
        while missing:
            found = fetch_from_all(client, topic, missing)
            self.assertEqual({error for error, _ in found.values()}, {0})
            self.assertTrue(any(data for _, data in found.values()), "an answer without anything")
            for partition, (_, data) in found.items():
                if data:
                    self.assertIn(b"%s %d %d" % (topic.encode(), partition, number), data)
                    del missing[partition]

    def check(self, broker):
        self.assertLess(len(os.listdir(f"/proc/{broker.process.pid}/fd")), DESCRIPTORS - 32)
        self.assertNotIn("too many", broker.log.lower())
        self.assertNotIn("out of file descriptors", broker.log)

    def test_more_partitions_than_descriptors(self):
        broker = Broker(limits={resource.RLIMIT_NOFILE: DESCRIPTORS})
        self.addCleanup(broker.close)
        with RawClient(broker) as client:
            self.assertEqual(client.create_topic("synced", PARTITIONS), 0)
            self.assertEqual(client.create_topic("loose", PARTITIONS, [("flush.messages", NEVER)]), 0)
            for number in range(3):
                for topic in ["synced", "loose"]:
                    self.write(client, topic, number)
            for topic in ["synced", "loose"]:
                self.read(client, topic, 2)
            self.check(broker)
        broker.kill()
        broker.start()
        with RawClient(broker) as client:
            for topic in ["synced", "loose"]:
                self.write(client, topic, 3)
                self.read(client, topic, 0)
                self.read(client, topic, 3)
            self.check(broker)
        self.assertEqual(broker.terminate(), 0)
        broker.start()
        with RawClient(broker) as client:
            self.read(client, "loose", 3)
        self.check(broker)


if __name__ == "__main__":
    unittest.main()
