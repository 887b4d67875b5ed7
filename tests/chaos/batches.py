"""Reads who wrote what: the headers of all record batches of a partition, which no stock client shows."""

import struct
import time

from cluster import view_of
from history import Batch
from kafka_messages import Connection

FETCH_VERSION = 11  # the last one but one that names topics
PATIENCE_S = 30
FIXED = struct.Struct(">qi")  # base offset, and the length of what follows
# Leader epoch, format, checksum, attributes, last offset, two times, producer id, its epoch, first sequence number, count.
HEADER = struct.Struct(">ibIhiqqqhii")
CONTROL = 0x20  # of the attributes


def parse(data):
    """The whole batches of these bytes; the last one may be cut off."""
    at = 0
    while at + FIXED.size + HEADER.size <= len(data):
        base, length = FIXED.unpack_from(data, at)
        end = at + FIXED.size + length
        if end > len(data):
            return
        header = HEADER.unpack_from(data, at + FIXED.size)
        yield Batch(base, base + header[4], *header[7:10], control=int(header[3] & CONTROL != 0))
        at = end


def leader_of(cluster, partition):
    for view in map(view_of, cluster.brokers):
        if view and partition in view.partitions:
            return next((broker for broker in cluster.brokers if broker.number == view.partitions[partition].leader), None)
    return None


def fetch(connection, partition, offset):
    """(error, high watermark, bytes)"""
    topic, _, number = partition.rpartition("/")
    answer = connection.call("Fetch", FETCH_VERSION, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=8 << 20, session_epoch=-1,
                             topics=[{"topic": topic, "partitions": [
                                 {"partition": int(number), "fetch_offset": offset, "partition_max_bytes": 4 << 20}]}])
    found = answer.responses[0].partitions[0]
    return found.error_code, found.high_watermark, found.records or b""


def read_batches(cluster, partition):
    """All of the partition, from the leader; None if that is not possible within a while."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with Connection(leader_of(cluster, partition) or cluster.brokers[0]) as connection:
                connection.sock.settimeout(PATIENCE_S)
                return _read_batches(connection, partition)
        except (OSError, EOFError, RuntimeError):
            time.sleep(0.2)
    return None


def _read_batches(connection, partition):
    found, offset = [], 0
    while True:
        error, high_watermark, data = fetch(connection, partition, offset)
        if error != 0:
            raise RuntimeError(f"fetch of {partition} at {offset}: error {error}")
        found += parse(data)
        if found:
            offset = found[-1].last + 1
        if offset >= high_watermark or not data:
            return found


def write_batches(cluster, partitions, path):
    """In the form that the checker reads."""
    with open(path, "w", encoding="utf-8") as file:
        for partition in partitions:
            found = read_batches(cluster, partition)
            if found is None:
                file.write(f"unreadable {partition}\n")
            for batch in found or []:
                file.write(f"batch {partition} {' '.join(map(str, batch))}\n")
