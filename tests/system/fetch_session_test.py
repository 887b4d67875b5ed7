"""Fetch sessions over real sockets: many readers with a session each, producers beside them, every record seen once."""

import struct
import threading
import time
import unittest

from naru_process import PATIENCE_S, Broker, frame, read_frame
from raw_client import FETCH, RawClient, batch

PARTITIONS, READERS, RECORDS = 50, 6, 600
SESSION_ID_NOT_FOUND, INVALID_EPOCH = 70, 71


class SessionReader:
    """Fetch version 11: asks for everything once, then only says what changed."""

    def __init__(self, broker, topic, partitions):
        self.client = RawClient(broker)
        self.topic = topic.encode()
        self.positions = {index: 0 for index in range(partitions)}
        self.changed = set(self.positions)
        self.session, self.epoch = 0, 0
        self.seen, self.told = [], 0

    def close(self):
        self.client.close()

    def fetch(self, max_wait=500):
        """The error of the answer."""
        body = struct.pack(">iiiibii", -1, max_wait, 1, 1 << 20, 0, self.session, self.epoch)
        body += struct.pack(">i", 1 if self.changed else 0)
        if self.changed:
            body += struct.pack(">h", len(self.topic)) + self.topic + struct.pack(">i", len(self.changed))
            for index in sorted(self.changed):
                body += struct.pack(">iiqqi", index, -1, self.positions[index], -1, 1 << 20)
        body += struct.pack(">ih", 0, 0)
        self.changed = set()
        return self.take(self.client.call(frame(FETCH, 11, body)))

    def take(self, answer):
        _, _, error, session, topics = struct.unpack(">iihii", answer[:18])
        if error:
            self.session, self.epoch, self.changed = 0, 0, set(self.positions)
            return error
        self.session, self.epoch = session, self.epoch + 1
        at = 18
        for _ in range(topics):
            (length,) = struct.unpack(">h", answer[at:at + 2])
            (partitions,) = struct.unpack(">i", answer[at + 2 + length:at + 6 + length])
            at += 6 + length
            for _ in range(partitions):
                index, error, _, _, _, aborted, _, size = struct.unpack(">ihqqqiii", answer[at:at + 42])
                assert error == 0 and aborted == -1, (error, aborted)
                self.told += 1
                at += 42
                self.take_records(index, answer[at:at + max(size, 0)])
                at += max(size, 0)
        return 0

    def take_records(self, index, data):
        while data:
            base, length = struct.unpack(">qi", data[:12])
            assert base == self.positions[index], f"{base} where {self.positions[index]} comes next"
            self.seen.append(data[12 + length - 9:12 + length - 1])  # the value: eight digits
            self.positions[index] = base + 1
            self.changed.add(index)
            data = data[12 + length:]


class FetchSessionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()
        with RawClient(cls.broker) as client:
            assert client.create_topic("wide", partitions=PARTITIONS) == 0

    @classmethod
    def tearDownClass(cls):
        cls.broker.close()

    def test_every_reader_sees_every_record_once(self):
        readers = [SessionReader(self.broker, "wide", PARTITIONS) for _ in range(READERS)]
        problems = []

        def read(reader):
            try:
                deadline = time.monotonic() + PATIENCE_S
                while len(reader.seen) < RECORDS and time.monotonic() < deadline:
                    error = reader.fetch()
                    assert error == 0, error
            except Exception as problem:
                problems.append(problem)

        def write(first):
            try:
                with RawClient(self.broker) as client:
                    for number in range(first, RECORDS, 2):
                        error, _ = client.produce("wide", batch([b"%08d" % number]), partition=number * 7 % PARTITIONS)
                        assert error == 0, error
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
        threads += [threading.Thread(target=write, args=(first,)) for first in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        for reader in readers:
            self.assertEqual(sorted(reader.seen), [b"%08d" % number for number in range(RECORDS)])
            self.assertGreater(reader.session, 0)
            self.assertLess(reader.told, PARTITIONS + 2 * RECORDS, "idle partitions are not mentioned")
            reader.close()

    def test_a_session_does_not_outlive_its_connection(self):
        reader = SessionReader(self.broker, "wide", 2)
        self.assertEqual(reader.fetch(0), 0)
        self.assertEqual(reader.fetch(0), 0)
        reader.close()
        reader.client = RawClient(self.broker)
        self.assertEqual(reader.fetch(0), SESSION_ID_NOT_FOUND)
        self.assertEqual(reader.fetch(0), 0, "and the client starts over")
        reader.epoch += 1
        self.assertEqual(reader.fetch(0), INVALID_EPOCH)
        reader.close()


if __name__ == "__main__":
    unittest.main()
