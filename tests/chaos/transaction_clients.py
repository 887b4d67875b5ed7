"""Starts the transactional clients of a chaos run, kills and replaces some, and follows what they tell."""

import collections
import itertools
import time

from clients import begin_groups, start
from services import PATIENCE_S
from transaction_checker import COPY, SOURCE

PROGRAM = "transaction_workload.py"
TOPICS = {SOURCE: {}, COPY: {"flush.messages": "1000000"}}
GROUP = "copiers"
WRITERS, COPIERS = 2, 2
RATE = 8  # transactions per second of a writer
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


def topic_of(partition):
    return partition.rpartition("/")[0]


class TransactionProgress:
    """How far writers and the reader are; what the copiers do is seen by the reader."""

    def __init__(self):
        self.begun = {}  # (slot, number) -> (time, values), of those that are not ended yet
        self.latest = {}  # slot -> (time at which it began, values) of the youngest committed transaction
        self.seen = collections.defaultdict(set)  # topic -> values
        self.read = collections.Counter()  # partition -> records
        self.eof = {}  # partition -> offset
        self.counts = collections.Counter()

    def hear_writer(self, slot, words):
        what, *rest = words
        if what == "begun":
            self.begun[slot, rest[1]] = float(rest[0]), rest[3::2]
        elif what in ("committed", "aborted"):
            self.counts[what] += 1
            began = self.begun.pop((slot, rest[1]))
            if what == "committed":
                self.latest[slot] = began

    def hear_reader(self, words):
        what, *rest = words
        if what == "read":
            self.seen[topic_of(rest[0])].add(rest[2])
            self.read[rest[0]] += 1
        elif what == "eof":
            self.eof[rest[0]] = int(rest[1])


class TransactionClients:
    """Writers that write to `SOURCE`, copiers to `COPY` when they have been added, and a reader of both. Each writer and copier has a slot, which is its
    transactional id; who takes the slot of one that was killed takes the id."""

    def __init__(self, cluster, partitions):
        self.cluster, self.partitions = cluster, partitions
        self.sources = [partition for partition in partitions if topic_of(partition) == SOURCE]
        self.progress = TransactionProgress()
        self.incarnations = collections.Counter()
        self.writers, self.copiers, self.retired = {}, {}, []
        self.victims = {"writer": itertools.cycle(range(WRITERS)), "copier": itertools.cycle(range(COPIERS))}
        self.reader = start(cluster, "committed-follow", PROGRAM, "reader", cluster.bootstrap, ",".join(partitions), "follow")
        for slot in range(WRITERS):
            self.add_writer(slot)

    def add_copiers(self):
        begin_groups(self.cluster, self.sources, [GROUP])
        for slot in range(COPIERS):
            self.add_copier(slot)

    def _incarnation(self, kind, slot):
        self.incarnations[kind, slot] += 1
        return f"{slot}.{self.incarnations[kind, slot]}"

    def add_writer(self, slot):
        name = self._incarnation("writer", slot)
        self.writers[slot] = start(self.cluster, f"writer-{name}", PROGRAM, "writer", name, f"writer-{slot}", self.cluster.bootstrap,
                                   ",".join(self.sources), RATE)

    def add_copier(self, slot):
        name = self._incarnation("copier", slot)
        self.copiers[slot] = start(self.cluster, f"copier-{name}", PROGRAM, "copier", f"copier-{slot}", self.cluster.bootstrap, GROUP, SOURCE, COPY)

    def replace(self, kind):
        """kill -9 of a writer or a copier, each in turn: an open transaction of it is its successor's to end."""
        slot = next(self.victims[kind])
        self.listen()
        victim = (self.writers if kind == "writer" else self.copiers)[slot]
        victim.kill()
        self.retired.append((slot, victim) if kind == "writer" else (None, victim))
        self.listen()
        (self.add_writer if kind == "writer" else self.add_copier)(slot)

    def all(self):
        return [self.reader, *self.writers.values(), *self.copiers.values()]

    def listen(self):
        for slot, writer in [*self.writers.items(), *self.retired]:
            if slot is not None:
                for words in writer.news():
                    self.progress.hear_writer(slot, words)
        for words in self.reader.news():
            self.progress.hear_reader(words)

    def ended_by_themselves(self):
        self.listen()
        return [sentence for client in self.all() if (sentence := client.ended_by_itself())]

    def why_no_commits_since(self, moment):
        """A writer that has not committed a transaction that it began after that moment; None if there is none."""
        self.listen()
        behind = [slot for slot in self.writers if self.progress.latest.get(slot, (0.0, []))[0] < moment]
        return f"no transaction begun since then is committed by writer {', '.join(map(str, behind))}" if behind else None

    def committed_values(self):
        return [value for _, values in self.progress.latest.values() for value in values]

    def why_not_read(self, values):
        """Whether source and copy have been read as far as these; None if they have."""
        self.listen()
        for topic in TOPICS:
            if missing := [value for value in values if value not in self.progress.seen[topic]]:
                return f"{missing[0]} cannot be read from {topic}"
        return None

    def why_not_stable(self):
        """A partition whose last stable offset is not its end, though nothing writes any more; None if there is none."""
        for partition in self.partitions:
            stable, end = (self.cluster.end_offset(partition, level) for level in (READ_COMMITTED, READ_UNCOMMITTED))
            if stable is None or stable != end:
                return f"{partition} ends at {end}, and its last stable offset is {stable}"
        return None

    def why_not_copied(self):
        """After the writers have ended: whether all that the reader can see of the source is in the copy; None if it is."""
        self.listen()
        if reason := self.why_not_stable():
            return reason
        for partition in self.partitions:
            end = self.cluster.end_offset(partition, READ_UNCOMMITTED)
            if end != 0 and self.progress.eof.get(partition) != end:
                return f"{self.reader.name} has come to offset {self.progress.eof.get(partition)} of {partition}, which ends at {end}"
        for source in self.sources:
            copy = COPY + source.removeprefix(SOURCE)
            if self.progress.read[source] != self.progress.read[copy]:
                return f"{source} has {self.progress.read[source]} records, {copy} has {self.progress.read[copy]}"
        return None

    def finish(self, demand):
        """Ends the writers, lets the copiers copy what there is, then a last reader read all of it. Tells `demand` what is missing."""
        self._end(self.writers.values(), demand)
        demand("last stable offsets come to the end, and all is copied", self.why_not_copied)
        self._end(self.copiers.values(), demand)
        demand("last stable offsets come to the end", self.why_not_stable)
        self.reader.tell_to_end()
        self.reader.wait(PATIENCE_S)
        last = start(self.cluster, "committed-last", PROGRAM, "reader", self.cluster.bootstrap, ",".join(self.partitions), "to-the-end")
        self.retired.append((None, last))
        deadline = time.monotonic() + 3 * PATIENCE_S
        while last.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        last.kill()
        self.listen()

    @staticmethod
    def _end(clients, demand):
        for client in clients:
            client.tell_to_end()
        for client in clients:
            if not client.wait(2 * PATIENCE_S):
                demand(f"{client.name} could not end its last transaction", None)

    def close(self):
        for client in [*self.all(), *(client for _, client in self.retired)]:
            client.close()
