"""compression.type of topics, with stock clients: what they read is what they sent, and the files have the topic's codec."""

import os
import re
import struct
import unittest
import urllib.request

from confluent_kafka import KafkaError, Producer

from confluent_test import create_topic, producer, read_all
from naru_command import NaruCommand
from naru_process import PATIENCE_S, Broker, kcat, wait_until

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
TYPES = ["uncompressed", "gzip", "snappy", "lz4", "zstd"]
HEADER_BYTES = 61
CODEC_MASK, TRANSACTIONAL, CONTROL = 0x07, 0x10, 0x20


def stored_batches(broker, topic, partition=0):
    """(base offset, attributes, number of records, size) of each batch in the partition's files."""
    folder = os.path.join(broker.data, f"{topic}-{partition}")
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".log")):
        with open(os.path.join(folder, name), "rb") as file:
            log = file.read()
        at = 0
        while at + HEADER_BYTES <= len(log):
            base, length = struct.unpack_from(">qi", log, at)
            attributes, = struct.unpack_from(">h", log, at + 21)
            count, = struct.unpack_from(">i", log, at + 57)
            yield base, attributes, count, length + 12
            at += length + 12


def stored_codecs(broker, topic):
    """Of the batches that clients wrote."""
    return {CODECS[attributes & CODEC_MASK] for _, attributes, _, _ in stored_batches(broker, topic) if not attributes & CONTROL}


class CompressionTest(NaruCommand, unittest.TestCase):
    def setUp(self):
        self.broker = Broker("--set", "transaction.state.log.num.partitions=1", admin="127.0.0.1:0")
        self.addCleanup(self.broker.close)
        self.address = self.broker.address

    def send(self, topic, values, **config):
        failures = []
        client = producer(self.broker, **config)
        for number, value in enumerate(values):
            client.produce(topic, key=b"%d" % number, value=value, headers={"n": b"%d" % number, "empty": b""}, partition=0, timestamp=1000 + number,
                           on_delivery=lambda error, _: error and failures.append(error))
        self.assertEqual(client.flush(PATIENCE_S), 0)
        return failures

    def metric(self, name):
        page = re.search(r"http://127\.0\.0\.1:\d+/metrics", self.broker.log)
        with urllib.request.urlopen(page.group(), timeout=PATIENCE_S) as answer:
            return next(float(line.split()[-1]) for line in answer.read().decode().splitlines() if line.startswith(name))

    def test_every_codec_is_stored_in_that_of_the_topic(self):
        for kind in TYPES:
            create_topic(self.broker, kind, compression_type=kind)
            sent = []
            for codec in CODECS:
                values = [b"%s %d " % (codec.encode(), number) + b"x" * (number % 400) for number in range(500)]
                self.assertEqual(self.send(kind, values, compression_codec=codec, enable_idempotence=True, linger_ms=20), [])
                sent += [(b"%d" % number, value, 1000 + number) for number, value in enumerate(values)]
            messages = read_all(self.broker, kind)
            self.assertEqual([(m.key(), m.value(), m.timestamp()[1]) for m in messages], sent, kind)
            self.assertTrue(all(m.headers() == [("n", m.key()), ("empty", b"")] for m in messages), kind)
            self.assertEqual(stored_codecs(self.broker, kind), {"none" if kind == "uncompressed" else kind})
        create_topic(self.broker, "as-sent")
        for codec in CODECS:
            self.send("as-sent", [b"x" * 1000] * 10, compression_codec=codec)
        self.assertEqual(stored_codecs(self.broker, "as-sent"), set(CODECS))
        wait_until(lambda: self.metric('naru_memory_used_bytes{account="decompression"}') == 0, "the memory is free", self.broker)

    def test_kcat_reads_what_it_wrote_after_a_kill(self):
        create_topic(self.broker, "killed", compression_type="zstd", compression_zstd_level=9)
        lines = b"".join(b"line %d\n" % number for number in range(2000))
        kcat(self.broker, "-P", "-t", "killed", "-p", "0", "-z", "lz4", stdin=lines)
        self.broker.kill()
        self.broker.start()
        self.assertEqual(kcat(self.broker, "-C", "-t", "killed", "-p", "0", "-o", "beginning", "-e"), lines)
        self.assertEqual(stored_codecs(self.broker, "killed"), {"zstd"})

    def test_a_change_of_the_type_holds_for_what_comes_then(self):
        create_topic(self.broker, "changing")
        self.send("changing", [b"x" * 500] * 20, compression_codec="gzip")
        self.assertEqual(stored_codecs(self.broker, "changing"), {"gzip"})
        self.naru("topic", "config", "changing", "--set", "compression.type=snappy")
        self.send("changing", [b"y" * 500] * 20, compression_codec="gzip")
        self.assertEqual(stored_codecs(self.broker, "changing"), {"gzip", "snappy"})
        self.assertEqual([m.value()[:1] for m in read_all(self.broker, "changing")], [b"x"] * 20 + [b"y"] * 20)

    def test_higher_levels_make_less(self):
        values = [b" ".join(b"word%d" % (number * factor % 997) for factor in range(50)) for number in range(500)]
        sizes = {}
        for codec, low, high in (("gzip", 1, 9), ("zstd", 1, 19), ("lz4", 9, 12)):
            for level in (low, high):
                topic = f"{codec}-{level}"
                create_topic(self.broker, topic, compression_type=codec, **{f"compression_{codec}_level": level})
                self.assertEqual(self.send(topic, values, linger_ms=100), [])
                sizes[topic] = sum(size for _, _, _, size in stored_batches(self.broker, topic))
            self.assertLess(sizes[f"{codec}-{high}"], sizes[f"{codec}-{low}"], sizes)

    def test_transactions_are_as_they_would_be_without(self):
        create_topic(self.broker, "transactions", compression_type="lz4")
        client = Producer({"bootstrap.servers": self.broker.address, "transactional.id": "t", "compression.codec": "gzip"})
        client.init_transactions(PATIENCE_S)
        for number in range(6):
            client.begin_transaction()
            for record in range(20):
                client.produce("transactions", b"%d.%d" % (number, record) + b"x" * 100, partition=0)
            if number % 2 == 0:
                client.commit_transaction(PATIENCE_S)
            else:
                client.abort_transaction(PATIENCE_S)
        seen = [m.value().split(b"x")[0] for m in read_all(self.broker, "transactions")]
        self.assertEqual(seen, [b"%d.%d" % (number, record) for number in (0, 2, 4) for record in range(20)])
        batches = list(stored_batches(self.broker, "transactions"))
        self.assertTrue(all(attributes & TRANSACTIONAL for _, attributes, _, _ in batches))
        self.assertEqual({attributes & CODEC_MASK for _, attributes, _, _ in batches if attributes & CONTROL}, {0})
        self.assertEqual(stored_codecs(self.broker, "transactions"), {"lz4"})

    def test_max_message_bytes_holds_for_what_is_stored_too(self):
        create_topic(self.broker, "small", compression_type="uncompressed", max_message_bytes=2000)
        self.assertEqual(self.send("small", [b"x" * 1000]), [])
        failures = self.send("small", [b"x" * 100_000], compression_codec="gzip")
        self.assertEqual([failure.code() for failure in failures], [KafkaError.MSG_SIZE_TOO_LARGE])


if __name__ == "__main__":
    unittest.main()
