"""kafka-dump-log on the files of a broker that was stopped: it prints every batch and record of a `.log`, and knows no other file by its name."""

import os
import re
import sys
import time

from confluent_kafka import Consumer, Producer

import reader

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

from naru_process import Broker  # noqa: E402

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BATCH = re.compile(r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .* compresscodec: (\S+) crc: \d+ isvalid: (\w+)$")
RECORD = re.compile(r"^\| offset: (\d+) .*? payload: (.*)$")
MARKER = re.compile(r"^\| offset: (\d+) .* endTxnMarker: (COMMIT|ABORT)")
COMPACTED_WITHIN_S = 60


class Sent:
    """What was delivered to partition 0 of a topic: offset -> value."""

    def __init__(self, broker, topic):
        self.broker, self.topic, self.values = broker, topic, {}

    def producer(self, **config):
        return Producer({**reader.config(self.broker), **{key.replace("_", "."): value for key, value in config.items()}})

    def send(self, producer, values, key=None):
        for value in values:
            producer.produce(self.topic, value, key=key(value) if key else None, partition=0, headers={"h": "w"},
                             on_delivery=self._delivered)
        assert producer.flush(60) == 0, f"{self.topic}: not everything was delivered"

    def _delivered(self, error, message):
        assert error is None, error
        self.values[message.offset()] = message.value().decode()


def fill(broker):
    """All codecs, a producer with sequence numbers, transactions that were committed, aborted, and are open; several segments."""
    reader.create_topic(broker, "dumped", segment_bytes=4000, index_interval_bytes=500)
    sent = Sent(broker, "dumped")
    for codec in CODECS:
        sent.send(sent.producer(compression_codec=codec, linger_ms=100, enable_idempotence=True),
                  [f"{codec} {i} " + "x" * 60 for i in range(40)])
    for end in ("commit_transaction", "abort_transaction", None):
        producer = sent.producer(transactional_id=f"t-{end}")
        producer.init_transactions()
        producer.begin_transaction()
        sent.send(producer, [f"{end} {i}" for i in range(10)])
        if end:
            getattr(producer, end)()
    return sent


def fill_compacted(broker):
    """Batches with fewer records than offsets, and without any; returns what has to be left."""
    reader.create_topic(broker, "dumped-compacted", cleanup_policy="compact", segment_bytes=4000, segment_ms=200, min_cleanable_dirty_ratio=0.01)
    sent = Sent(broker, "dumped-compacted")
    for number, codec in enumerate(CODECS):
        sent.send(sent.producer(compression_codec=codec, linger_ms=100), [f"{number} {i} " + "x" * 20 for i in range(60 - 10 * number)],
                  key=lambda value: value.split()[1])
    last = {value.split()[1]: offset for offset, value in sorted(sent.values.items())}
    left = {offset: sent.values[offset] for offset in sorted(last.values())}
    deadline = time.monotonic() + COMPACTED_WITHIN_S
    while {m.offset() for m in reader.messages(broker, "dumped-compacted")} != set(left):
        assert time.monotonic() < deadline, "the log is not compacted"
        time.sleep(0.1)
    return left


def read_as_group(broker, topic):
    consumer = Consumer({**reader.config(broker), "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    assert consumer.poll(60) is not None
    consumer.commit(asynchronous=False)
    consumer.close()


def logs_of(broker, partition):
    folder = os.path.join(broker.data, partition)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".log")]


def dump(tools, paths, *arguments):
    return tools.run("kafka-dump-log", "--deep-iteration", "--print-data-log", *arguments, "--files", ",".join(paths))


def records_in(output):
    """What was printed: the records, and the ends of transactions. Every batch has to be whole, and none may be left out."""
    batches = [match for match in map(BATCH.match, output.splitlines()) if match]
    assert batches and all(batch[5] == "true" for batch in batches), output
    assert "invalid bytes" not in output and "rror" not in output, output
    # Of a segment that does not begin at 0 the tool says that its first offset does not follow -1.
    gaps = [line for line in output.splitlines() if "is followed by" in line and not line.strip().startswith("-1 ")]
    records = {int(match[1]): match[2] for match in map(RECORD.match, output.splitlines()) if match}
    markers = [match[2] for match in map(MARKER.match, output.splitlines()) if match]
    assert len(records) + len(markers) == sum(int(batch[3]) for batch in batches), output
    ends = [(int(batch[1]), int(batch[2])) for batch in batches]
    assert all(begin == before + 1 for (_, before), (begin, _) in zip(ends, ends[1:])), f"the batches leave gaps: {ends}"
    return records, markers, {batch[4] for batch in batches}, gaps


def every_file(folder):
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in sorted(names)]


def check(tools, broker):
    """The broker is stopped here."""
    sent = fill(broker)
    left = fill_compacted(broker)
    read_as_group(broker, "dumped")
    assert broker.terminate() == 0

    assert len(logs_of(broker, "dumped-0")) > 1
    records, markers, codecs, gaps = records_in(dump(tools, logs_of(broker, "dumped-0")))
    assert records == sent.values and not gaps, f"{len(records)} of {len(sent.values)} records\n{gaps}"
    assert markers == ["COMMIT", "ABORT"] and codecs == set(CODECS), (markers, codecs)

    records, _, _, _ = records_in(dump(tools, logs_of(broker, "dumped-compacted-0")))
    assert records == left, f"{len(records)} records instead of {len(left)}"

    offsets, _, _, _ = records_in(dump(tools, logs_of(broker, "__consumer_offsets-0"), "--offsets-decoder"))
    assert any('"protocolType":"consumer"' in value for value in offsets.values()), offsets
    transactions, _, _, _ = records_in(dump(tools, logs_of(broker, "__transaction_state-0"), "--transaction-log-decoder"))
    assert any('"transactionStatus":4' in value for value in transactions.values()), transactions

    others = [path for path in every_file(broker.data) if not path.endswith(".log")]
    output = dump(tools, others)
    ignored = set(re.findall(r"(?m)^Ignoring unknown file (.*)$", output))
    assert ignored == set(others), f"kafka-dump-log takes these for files of Kafka's: {set(others) - ignored}\n{output}"
    kinds = {os.path.basename(path).partition(".")[2] for path in others}
    assert {"offset-index", "time-index", "aborted-index", "producer-snapshot"} <= kinds, kinds


def settings():
    return [part for setting in ("log.cleaner.backoff.ms=100", "log.retention.check.interval.ms=100", "offsets.topic.num.partitions=1",
                                 "transaction.state.log.num.partitions=1") for part in ("--set", setting)]


def run(tools_for):
    """`tools_for`: broker -> the tools."""
    broker = Broker(*settings())
    try:
        check(tools_for(broker), broker)
    finally:
        broker.close()
