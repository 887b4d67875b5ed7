"""A soak: a cluster that works for a long time with clients of many kinds, while one broker is restarted and killed again and again. The
other brokers live from the beginning to the end, and may not need more of anything in the second half than in the first (vitals.py)."""

import itertools
import os
import subprocess
import time

import vitals
from clients import start
from history import Anomaly, lines
from nemesis import CLIENTS, Step
from services import NARU, PATIENCE_S

PROGRAM = "soak_workload.py"
TABLE, STREAM, VISITED = "table", "stream", "visited"
TOPICS = {TABLE: {"cleanup.policy": "compact", "segment.ms": "10000", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "5000"},
          STREAM: {"retention.bytes": "1048576", "segment.bytes": "262144"},
          VISITED: {"retention.bytes": "1048576", "segment.bytes": "262144"}}
PARTITIONS = 2
TABLE_RATE, STREAM_RATE = 50, 30
CYCLE_S = 60
SAMPLE_S = 5
QUIET_S = 5  # before the sample that ends a cycle: connections of what has ended are closed
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def check_table(puts, rows, is_complete):
    """The last record of each key is what was put last. A key whose tombstone is gone has no row; it must not have an older one."""
    if not is_complete:
        yield Anomaly("client", "the compacted topic could not be read to its end")
    for key, value in puts.items():
        if rows.get(key, "-") != value:
            yield Anomaly("lost" if value != "-" else "returned", f"{TABLE}: {key} was put to {value} last, and is {rows.get(key, '-')}")


def check_stream(ranges):
    """The members of the group have together read every number of a partition from 0 on: (partition, first, last)."""
    if not ranges:
        yield Anomaly("client", "nobody has read the stream")
    ends = {}
    for partition, first, last in sorted(ranges):
        if first > ends.get(partition, -1) + 1:
            yield Anomaly("gap", f"{STREAM}-{partition}: number {first} was read behind {ends.get(partition, -1)}")
        ends[partition] = max(last, ends.get(partition, -1))


class SoakClients:
    """Clients beside those of a chaos run. None of them may end before it is told to."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.table = self._start("soak-table", "table", TABLE, TABLE_RATE)
        self.stream_in = self._start("soak-stream-in", "stream-in", STREAM, STREAM_RATE)
        self.stream_out = [self._start(f"soak-stream-out-{number}", "stream-out", STREAM, "streamers") for number in range(2)]
        self.rows = None
        self.visits = itertools.count()

    def _start(self, name, role, *arguments):
        return start(self.cluster, name, PROGRAM, role, self.cluster.bootstrap, *arguments)

    def all(self):
        return [self.table, self.stream_in, *self.stream_out]

    def ended_by_themselves(self):
        return [sentence for client in self.all() if (sentence := client.ended_by_itself())]

    def visit(self):
        """Programs that come, do one thing and go. Sentences about those that fail."""
        number = next(self.visits)
        servers, codec = self.cluster.bootstrap, CODECS[number % len(CODECS)]
        for command, text in [(["kcat", "-P", "-b", servers, "-t", VISITED, "-z", codec, "-X", "acks=all"], f"visit {number}\n"),
                              (["kcat", "-C", "-b", servers, "-t", VISITED, "-o", "beginning", "-e", "-q"], ""),
                              (["kcat", "-L", "-b", servers], ""),
                              ([NARU, "topic", "list", "--bootstrap", servers], ""),
                              ([NARU, "group", "list", "--bootstrap", servers], "")]:
            done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE_S)
            if done.returncode != 0:
                yield f"{' '.join(command)} has ended with {done.returncode}: {done.stderr.strip()[-500:]}"

    def finish(self, demand):
        for client in self.all():
            client.tell_to_end()
        for client in self.all():
            if not client.wait(2 * PATIENCE_S):
                demand(f"{client.name} has not ended in order", None)
        self.rows = self._start("soak-rows", "rows", TABLE)
        if not self.rows.wait(3 * PATIENCE_S):
            demand("the compacted topic could not be read", None)

    def judge(self):
        puts, rows, is_complete = {}, {}, False
        for what, *rest in lines(self.table.path):
            if what == "put":
                puts[rest[0]] = rest[1]
            elif what == "failed":
                yield Anomaly("client", f"{self.table.name}: {' '.join(rest)}")
        for what, *rest in lines(self.rows.path):
            if what == "row":
                rows[rest[0]] = rest[1]
            is_complete |= what == "end"
        yield from check_table(puts, rows, is_complete)
        read = [tuple(map(int, rest)) for client in self.stream_out for what, *rest in lines(client.path) if what == "read"]
        yield from check_stream(read)

    def close(self):
        for client in [*self.all(), *([self.rows] if self.rows else [])]:
            client.close()


class Soak:
    """What a chaos run does in place of its faults."""

    def __init__(self, run, minutes, cluster, clients, transactions):
        self.run, self.cluster, self.clients, self.transactions = run, cluster, clients, transactions
        self.soak_clients = SoakClients(cluster)
        self.seconds = minutes * 60
        self.restarted = cluster.brokers[-1]
        self.samples = {broker.name: [] for broker in cluster.brokers[:-1]}
        self.faults = itertools.cycle(["restart", "kill"])
        self.victims = itertools.cycle([None, *CLIENTS])

    def all_cycles(self):
        began = time.monotonic()
        for number in itertools.count(1):
            if time.monotonic() - began >= self.seconds:
                break
            self.cycle(number, time.monotonic() + min(CYCLE_S, began + self.seconds - time.monotonic()))

    def cycle(self, number, until):
        kind = next(self.faults)
        step = Step(kind, "any", 0, 2, False, False, next(self.victims))
        self.run.disturb(number, step, self.restarted, self.cluster, self.clients, self.transactions)
        for sentence in [*self.soak_clients.visit(), *self.soak_clients.ended_by_themselves()]:
            self.run.blame("client", sentence)
        while time.monotonic() < until - QUIET_S:
            time.sleep(min(SAMPLE_S, max(0.0, until - QUIET_S - time.monotonic())))
            self.sample()
        time.sleep(QUIET_S)
        self.sample()

    def sample(self):
        self.clients.listen()
        self.transactions.listen()
        for broker in self.cluster.brokers:
            if broker.name in self.samples:
                self.samples[broker.name].append(vitals.look_at(broker.process.pid, time.monotonic()))

    def finish(self):
        self.soak_clients.finish(self.run.demand)
        self.run.anomalies += self.soak_clients.judge()
        for name, samples in self.samples.items():
            self.run.say(vitals.describe(name, samples))
            self.run.anomalies += vitals.check(name, samples)
            with open(os.path.join(self.run.folder, f"vitals-{name}.txt"), "w") as file:
                file.writelines(" ".join(map(str, sample)) + "\n" for sample in samples)

    def close(self):
        self.soak_clients.close()
