"""Hostile bytes: the documented error or a closed connection, one log line, bounded memory, nobody else disturbed."""

import random
import struct
import unittest

from confluent_test import create_topic
from kafka_messages import Connection
from naru_process import Broker, frame, is_closed, kcat, read_frame
from raw_client import zigzag

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, DESCRIBE_CONFIGS, DESCRIBE_PRODUCERS = 0, 1, 2, 3, 18, 32, 61
TOPIC, GROUP = 2, 32


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def batch(records, count=1, attributes=0, last_delta=None, magic=2, crc=None, length=None, timestamp=1700000000000):
    """A record batch whose header says what it is told to say."""
    last_delta = count - 1 if last_delta is None else last_delta
    covered = struct.pack(">hiqqqhii", attributes, last_delta, timestamp, timestamp, -1, -1, -1, count) + records
    crc = crc32c(covered) if crc is None else crc
    length = 9 + len(covered) if length is None else length
    return struct.pack(">qiibI", 0, length, -1, magic, crc) + covered


RECORD = bytes([16, 0, 0, 0, 2, ord("k"), 2, ord("v"), 0])  # key k, value v


def record(value, delta, key=None, ahead_ms=0):
    key_part = zigzag(-1) if key is None else zigzag(len(key)) + key
    body = b"\0" + zigzag(ahead_ms) + zigzag(delta) + key_part + zigzag(len(value)) + value + zigzag(0)
    return zigzag(len(body)) + body


def produce_to(connection, topic, records):
    answer = connection.call("Produce", 12, acks=-1, timeout_ms=10000,
                             topic_data=[{"name": topic, "partition_data": [{"index": 0, "records": records}]}])
    return answer.responses[0].partition_responses[0]


def produce(topic, records, acks=1, version=3):
    name = topic.encode()
    body = struct.pack(">hhiih", -1, acks, 10000, 1, len(name)) + name
    body += struct.pack(">iii", 1, 0, len(records)) + records
    return frame(PRODUCE, version, body)


class BadInputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()
        kcat(cls.broker, "-P", "-t", "good", "-p", "0", stdin=b"before\n")

    @classmethod
    def tearDownClass(cls):
        cls.broker.close()

    def tearDown(self):
        self.assertIsNone(self.broker.process.poll(), self.broker.log)
        self.assertIn(b"before\n", kcat(self.broker, "-C", "-t", "good", "-p", "0", "-e"))

    def error_of(self, records, topic="good", version=3):
        with self.broker.connect() as sock:
            sock.sendall(produce(topic, records, version=version))
            answer = read_frame(sock)
        # correlation, one topic, its name, one partition, its index, then the error
        at = 4 + 4 + 2 + len(topic) + 4 + 4
        return struct.unpack(">h", answer[at:at + 2])[0]

    def test_a_good_hand_made_batch_is_accepted(self):
        self.assertEqual(self.error_of(batch(RECORD)), 0)

    def test_headers_that_disagree_with_their_content_get_the_documented_error(self):
        corrupt, too_large, invalid_record, unsupported_codec, invalid_timestamp = 2, 10, 87, 76, 32
        cases = {
            "wrong checksum": (batch(RECORD, crc=1), corrupt),
            "count larger than the records": (batch(RECORD, count=2), invalid_record),
            "count smaller than the records": (batch(RECORD + RECORD, count=1), invalid_record),
            "last offset delta": (batch(RECORD, last_delta=5), invalid_record),
            "negative count": (batch(RECORD, count=-1, last_delta=0), invalid_record),
            "control bit": (batch(RECORD, attributes=0x20), invalid_record),
            "old magic": (batch(RECORD, magic=1), invalid_record),
            "unknown codec": (batch(RECORD, attributes=7), unsupported_codec),
            "zstd in a version that does not have it": (batch(RECORD, attributes=4), unsupported_codec),
            "garbage as gzip": (batch(RECORD, attributes=1), invalid_record),
            "record longer than the batch": (batch(bytes([0xFE, 0x7F]) + RECORD[1:]), invalid_record),
            "two batches": (batch(RECORD) + batch(RECORD), invalid_record),
            "no batch": (b"", invalid_record),
            "far future": (batch(RECORD, timestamp=2**62), invalid_timestamp),
            "too large": (batch(RECORD[:1] + b"\0" * 1_100_000), too_large),
        }
        for name, (records, code) in cases.items():
            with self.subTest(name):
                self.assertEqual(self.error_of(records), code)

    def test_every_record_that_spoils_its_batch_is_named(self):
        create_topic(self.broker, "compacted", cleanup_policy="compact")
        create_topic(self.broker, "punctual", message_timestamp_after_max_ms=1000)
        keyless = batch(b"".join(record(b"v", delta, b"k" if delta not in (2, 5, 7) else None) for delta in range(10)), count=10)
        ahead = batch(b"".join(record(b"v", delta, ahead_ms=2**42 if delta % 2 else 0) for delta in range(4)), count=4)
        with Connection(self.broker) as connection:
            for topic, records, error, named in (("compacted", keyless, 87, [2, 5, 7]), ("punctual", ahead, 32, [1, 3])):
                with self.subTest(topic):
                    partition = produce_to(connection, topic, records)
                    self.assertEqual(partition.error_code, error)
                    self.assertEqual([each.batch_index for each in partition.record_errors], named)
                    self.assertEqual((partition.base_offset, partition.log_start_offset), (-1, 0))
                    self.assertTrue(all(each.batch_index_error_message for each in partition.record_errors))
            # Several bad records are bad together; a good batch to the same topic names none.
            good = produce_to(connection, "compacted", batch(record(b"v", 0, b"k")))
            self.assertEqual((good.error_code, good.record_errors), (0, []))

    def test_a_batch_larger_than_a_segment_is_refused(self):
        whole = batch(RECORD)
        for topic, bytes_of_segment in (("fits", len(whole)), ("small", len(whole) - 1)):
            create_topic(self.broker, topic, segment_bytes=bytes_of_segment)
        self.assertEqual(self.error_of(whole, "fits"), 0)
        self.assertEqual(self.error_of(whole, "small"), 18)

    def test_a_length_that_lies_is_refused_and_the_log_stays_whole(self):
        self.assertIn(self.error_of(batch(RECORD, length=1_000_000)), (2, 87))
        self.assertIn(self.error_of(batch(RECORD, length=10)), (2, 87))

    def test_decompression_bombs_are_stopped(self):
        import zlib
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        bomb = b"".join(packer.compress(b"\0" * (1 << 20)) for _ in range(900)) + packer.flush()
        self.assertLess(len(bomb), 1_048_000)
        before = self.broker.resident_bytes()
        self.assertEqual(self.error_of(batch(bomb, attributes=1)), 10)
        self.assertLess(self.broker.resident_bytes() - before, 300 << 20)

    def test_sizes_that_cannot_be_are_answered_by_closing(self):
        for size in [-1, -2**31, 2**31 - 1, (100 << 20) + 1]:
            with self.broker.connect() as sock:
                sock.sendall(struct.pack(">i", size) + b"x" * 100)
                self.assertTrue(is_closed(sock), size)
        self.assertIn("closed the connection from 127.0.0.1", self.broker.log)

    def test_a_tls_hello_on_the_plain_port_is_closed(self):
        with self.broker.connect() as sock:
            sock.sendall(bytes.fromhex("16030100a5010000a10303") + bytes(160))
            self.assertTrue(is_closed(sock))

    def test_unknown_apis_and_versions_close_the_connection(self):
        for api, version in [(999, 0), (-1, 0), (4, 0), (PRODUCE, 2), (PRODUCE, 99), (FETCH, 3), (METADATA, -1)]:
            with self.broker.connect() as sock:
                sock.sendall(frame(api, version, b"\0" * 20))
                self.assertTrue(is_closed(sock), (api, version))

    def test_api_versions_from_the_future_is_told_our_range(self):
        with self.broker.connect() as sock:
            sock.sendall(frame(API_VERSIONS, 99, b"\0whatever this is"))
            self.assertEqual(read_frame(sock), struct.pack(">ihihhh", 1, 35, 1, 18, 0, 4))
            sock.sendall(frame(API_VERSIONS, 0, b"", correlation=2))
            self.assertEqual(struct.unpack(">ih", read_frame(sock)[:6]), (2, 0))

    def test_what_was_asked_before_the_garbage_is_still_answered(self):
        with self.broker.connect() as sock:
            sock.sendall(frame(API_VERSIONS, 0, b"", correlation=7) + frame(METADATA, 1, b"\xff" * 3, correlation=8))
            self.assertEqual(struct.unpack(">i", read_frame(sock)[:4]), (7,))
            self.assertTrue(is_closed(sock))

    def test_bytes_behind_a_request_are_ignored(self):
        # As librdkafka 2.16 asks for the metadata of all topics: four bytes for the missing list instead of one.
        with self.broker.connect() as sock:
            sock.sendall(frame(METADATA, 13, bytes.fromhex("00" "00000000010000")))
            self.assertIn(b"good", read_frame(sock))

    def test_array_counts_that_lie_do_not_allocate(self):
        before = self.broker.resident_bytes()
        for count in [2**31 - 1, 10**8]:
            with self.broker.connect() as sock:
                sock.sendall(frame(METADATA, 1, struct.pack(">i", count)))
                self.assertTrue(is_closed(sock))
        self.assertLess(self.broker.resident_bytes() - before, 50 << 20)

    def answer_to(self, request):
        with self.broker.connect() as sock:
            sock.sendall(request)
            return read_frame(sock)

    def test_a_topic_that_is_asked_for_again_and_again_is_described_once(self):
        once = self.answer_to(frame(METADATA, 1, struct.pack(">ih", 1, 4) + b"good"))
        often = self.answer_to(frame(METADATA, 1, struct.pack(">i", 50000) + (struct.pack(">h", 4) + b"good") * 50000))
        self.assertEqual(often, once)

    def test_a_request_for_very_many_topics_creates_none(self):
        names = b"".join(struct.pack(">h", 9) + b"many-%04d" % i for i in range(5000))  # of four partitions each
        answer = self.answer_to(frame(METADATA, 1, struct.pack(">i", 5000) + names))
        self.assertEqual(answer.count(struct.pack(">hh", 44, 9) + b"many-"), 5000)  # POLICY_VIOLATION
        self.assertNotIn(b"many-", self.answer_to(frame(METADATA, 1, struct.pack(">i", -1))))

    def describe_configs(self, resources):
        body = b"".join(struct.pack(">bh", kind, len(name)) + name + struct.pack(">i", -1) for kind, name in resources)
        return self.answer_to(frame(DESCRIBE_CONFIGS, 1, struct.pack(">i", len(resources)) + body + b"\0"))

    def test_the_configuration_of_a_resource_is_told_once(self):
        answer = self.describe_configs([(TOPIC, b"good")] * 10000)
        self.assertEqual(answer.count(b"cleanup.policy"), 1)
        self.assertEqual(answer.count(b"more than once"), 9999)

    def test_the_configuration_of_very_many_resources_is_not_told_at_once(self):
        answer = self.describe_configs([(GROUP, b"%x" % i) for i in range(100000)])
        self.assertGreater(answer.count(b"ask for fewer resources"), 10000)
        self.assertLess(answer.count(b"consumer.session.timeout.ms"), 60000)

    def test_the_producers_of_a_partition_are_told_once(self):
        # One topic "good" with partition 0 ten times; both messages are flexible.
        body = b"\0" + b"\x02" + b"\x05good" + b"\x0b" + bytes(4) * 10 + b"\0\0"
        answer = self.answer_to(frame(DESCRIBE_PRODUCERS, 0, body))
        self.assertEqual(answer.count(b"more than once"), 9)

    def test_invalid_acks_is_told(self):
        with self.broker.connect() as sock:
            sock.sendall(produce("good", batch(RECORD), acks=5))
            self.assertIn(struct.pack(">h", 21), read_frame(sock))

    def test_random_bytes_and_cut_frames_by_the_thousand(self):
        chance = random.Random(4711)
        before = self.broker.resident_bytes()
        good = produce("good", batch(RECORD))
        for i in range(3000):
            with self.broker.connect() as sock:
                kind = i % 3
                if kind == 0:
                    sock.sendall(chance.randbytes(chance.randrange(1, 200)))
                elif kind == 1:
                    sock.sendall(good[:chance.randrange(1, len(good))])
                else:
                    broken = bytearray(good)
                    broken[chance.randrange(4, len(good))] ^= 1 << chance.randrange(8)
                    sock.sendall(bytes(broken))
        self.assertLess(self.broker.resident_bytes(), before * 1.2 + (64 << 20))

    def test_pipelined_requests_are_answered_in_order(self):
        with self.broker.connect() as sock:
            requests = b""
            for i in range(1000):
                kind = i % 3
                if kind == 0:
                    requests += frame(API_VERSIONS, 0, b"", correlation=i)
                elif kind == 1:
                    requests += frame(METADATA, 1, struct.pack(">i", 0), correlation=i)
                else:
                    body = produce("good", batch(RECORD))[4:]
                    body = body[:4] + struct.pack(">i", i) + body[8:]
                    requests += struct.pack(">i", len(body)) + body
            sock.sendall(requests)
            for i in range(1000):
                self.assertEqual(struct.unpack(">i", read_frame(sock)[:4])[0], i)


if __name__ == "__main__":
    unittest.main()
