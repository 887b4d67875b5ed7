"""Kafka in bytes, for tests that must know exactly what was sent and what was answered."""

import struct

from naru_process import frame, read_frame

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS = 0, 1, 2, 3, 18, 19, 20


def _crc_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
        table.append(crc)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def zigzag(value):
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(value, delta=0):
    body = b"\0" + zigzag(0) + zigzag(delta) + zigzag(-1) + zigzag(len(value)) + value + zigzag(0)
    return zigzag(len(body)) + body


def batch(values, timestamp=1700000000000):
    """A record batch of format 2 with these values."""
    records = b"".join(record(value, delta) for delta, value in enumerate(values))
    count = len(values)
    covered = struct.pack(">hiqqqhii", 0, count - 1, timestamp, timestamp, -1, -1, -1, count) + records
    return struct.pack(">qiibI", 0, 9 + len(covered), -1, 2, crc32c(covered)) + covered


def produce_request(topic, records, partition=0, acks=1, correlation=1):
    name = topic.encode()
    body = struct.pack(">hhiih", -1, acks, 10000, 1, len(name)) + name
    body += struct.pack(">iii", 1, partition, len(records)) + records
    return frame(PRODUCE, 3, body, correlation)


def fetch_request(topic, offset, partition=0, max_wait=0, max_bytes=1 << 20, correlation=1):
    name = topic.encode()
    body = struct.pack(">iiiib", -1, max_wait, 1, max_bytes, 0)
    body += struct.pack(">ih", 1, len(name)) + name + struct.pack(">iiqi", 1, partition, offset, max_bytes)
    return frame(FETCH, 4, body, correlation)


def create_topic_request(topic, partitions=1, config=(), correlation=1):
    name = topic.encode()
    body = struct.pack(">ih", 1, len(name)) + name + struct.pack(">ihi", partitions, 1, 0)
    body += struct.pack(">i", len(config))
    for key, value in config:
        body += struct.pack(">h", len(key)) + key.encode() + struct.pack(">h", len(value)) + value.encode()
    return frame(CREATE_TOPICS, 0, body + struct.pack(">i", 30000), correlation)


def delete_topic_request(topic, correlation=1):
    name = topic.encode()
    return frame(DELETE_TOPICS, 0, struct.pack(">ih", 1, len(name)) + name + struct.pack(">i", 30000), correlation)


class RawClient:
    """One connection; one request at a time."""

    def __init__(self, broker):
        self.sock = broker.connect()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, request):
        self.sock.sendall(request)
        return read_frame(self.sock)

    def produce(self, topic, records, partition=0, acks=1):
        """(error, base offset)"""
        answer = self.call(produce_request(topic, records, partition, acks))
        at = 4 + 4 + 2 + len(topic) + 4 + 4
        return struct.unpack(">hq", answer[at:at + 10])

    def fetch(self, topic, offset, partition=0, max_wait=0):
        """(error, high watermark, bytes of whole batches)"""
        answer = self.call(fetch_request(topic, offset, partition, max_wait))
        at = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
        error, high_watermark, _ = struct.unpack(">hqq", answer[at:at + 18])
        at += 18 + 4  # no aborted transactions
        (size,) = struct.unpack(">i", answer[at:at + 4])
        return error, high_watermark, answer[at + 4:at + 4 + max(size, 0)]

    def create_topic(self, topic, partitions=1, config=()):
        return struct.unpack(">h", self.call(create_topic_request(topic, partitions, config))[-2:])[0]

    def delete_topic(self, topic):
        return struct.unpack(">h", self.call(delete_topic_request(topic))[-2:])[0]

    def batches(self, topic, partition=0):
        """{base offset: records of the batch as bytes} of everything that can be read."""
        found, offset = {}, 0
        while True:
            error, high_watermark, data = self.fetch(topic, offset, partition)
            if error:
                raise RuntimeError(f"fetch of {topic} at {offset}: error {error}")
            while data:
                base, length = struct.unpack(">qi", data[:12])
                (last_delta,) = struct.unpack(">i", data[23:27])
                found[base] = data[21:12 + length]
                offset = base + last_delta + 1
                data = data[12 + length:]
            if offset >= high_watermark:
                return found
