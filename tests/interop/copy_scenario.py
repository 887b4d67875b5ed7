"""Copiers in transactions that are killed while brokers are: whatever they read is copied once. See README.md."""

import collections
import os
import time

import transaction_scene
from toolchain import PYTHON, environment, missing
from transaction_scene import PATIENCE_S, Scene, Source, java, needs
from scenario import require
from transactions_test import BACKOFF, read

from confluent_kafka import Consumer, TopicPartition

RECORDS = 100_000
PARTITIONS = 3
COPIERS = 2
KILLS = 10
AHEAD = 10_000  # of the next fault: none finds all work done
LONG_PATIENCE_S = 900
STAGES = ("begun", "sent", "offsets", "committed")


class Copying:
    """The copiers of one run, and what happens to them. They have names; a new one may have a new transactional id.

    A client that does not say in its transactions which member of the group it is, or that asks for offsets which may still change, can
    copy exactly once only `alone`: one copier, always with the same id."""

    def __init__(self, scene, program, protocol, dice, alone):
        self.scene, self.program, self.protocol, self.dice, self.alone = scene, program, protocol, dice, alone
        self.copiers = [None] * (1 if alone else COPIERS)
        self.everyone = collections.defaultdict(list)  # by transactional id
        self.ids = [f"copier-{i}" for i in range(len(self.copiers))]

    def start(self, i):
        command = [*self.program(), self.scene.bootstrap, self.protocol, "copiers", self.ids[i], "from", "to"]
        self.copiers[i] = self.scene.run(command)
        self.everyone[self.ids[i]].append(self.copiers[i])

    def start_all(self):
        for i in range(len(self.copiers)):
            self.start(i)

    def restart_ended(self):
        """One that was taken for dead is fenced, and ends by itself."""
        for i, copier in enumerate(self.copiers):
            if not copier.open:
                copier.close()
                self.start(i)

    def kill_one(self):
        """At a stage of its work. One in four comes back with another id, so that the broker has to end its transaction in time."""
        i, stage = self.dice.randrange(len(self.copiers)), self.dice.choice(STAGES)
        copier = self.copiers[i]
        with self.scene.news:
            before = copier.count(stage)
            self.scene.news.wait_for(lambda: copier.count(stage) > before or not copier.open, PATIENCE_S / 6)
        copier.kill()
        if not self.alone and self.dice.randrange(4) == 0:
            self.ids[i] += "+"
        self.start(i)

    def told(self, word):
        return [line for programs in self.everyone.values() for program in programs for line in program.lines if line.startswith(word)]

    def finish(self):
        for copier in self.copiers:
            copier.leave()


def check_copies(who, values):
    """`values` by partition: numbers, each with its transaction's name and size. Each number once, in the order of its source; each
    transaction whole."""
    sizes, seen = {}, collections.Counter()
    for partition in range(PARTITIONS):
        by_source = [[] for _ in range(PARTITIONS)]
        for value in values[partition]:
            number, transaction, size = value.split()
            by_source[int(number) % PARTITIONS].append(int(number))
            sizes[transaction] = int(size)
            seen[transaction] += 1
        for source, numbers in enumerate(by_source):
            expected = [n for n in range(source, RECORDS, PARTITIONS) if n // PARTITIONS % PARTITIONS == partition]
            where = f"{who}: in partition {partition}, from partition {source},"
            require(not (lost := set(expected) - set(numbers)), f"{where} {len(lost)} are lost, the first is {min(lost, default=None)}")
            require(len(numbers) == len(expected), f"{where} {len(numbers) - len(expected)} are too many")
            require(numbers == expected, f"{where} they are out of order")
    torn = {name: (seen[name], size) for name, size in sizes.items() if seen[name] != size}
    require(not torn, f"{who}: torn transactions (seen, whole): {dict(list(torn.items())[:5])}")


def by_partition(lines):
    values = {partition: [] for partition in range(PARTITIONS)}
    for line in lines:
        partition, value = line.split(" ", 1)
        values[int(partition)].append(value)
    return values


def check_offsets(bootstrap):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "copiers", **BACKOFF})
    try:
        places = consumer.committed([TopicPartition("from", partition) for partition in range(PARTITIONS)], timeout=PATIENCE_S)
    finally:
        consumer.close()
    for place in places:
        expected = len(range(place.partition, RECORDS, PARTITIONS))
        require(place.offset == expected, f"committed is {place.offset} of {expected} records of partition {place.partition}")


def check_version(scene, copying, wanted):
    """In version 2 of the protocol, every transaction has an epoch of its own; in version 1, every producer has. The copier with the
    most transactions tells."""
    commits = {name: sum(program.count("committed") for program in programs) for name, programs in copying.everyone.items()}
    name = max(commits, key=commits.get)
    epoch = scene.naru("txn", "describe", name)["producer_epoch"]
    version = 2 if epoch >= commits[name] else 1
    require(version == wanted, f"{name} spoke version {version}: epoch {epoch} after {commits[name]} transactions")


def plan(scene, copying, dice):
    """[(progress, what happens)]"""
    hows = [scene.kill_and_restart, scene.stop_and_restart, scene.kill_until_replaced, scene.kill_and_restart]
    bounces = [(RECORDS * (i + 1) // (len(hows) + 1), lambda how=how: scene.bounce(how, dice)) for i, how in enumerate(hows)]
    kills = [(dice.randrange(RECORDS // 50, RECORDS * 9 // 10), copying.kill_one) for _ in range(KILLS)]
    return sorted(bounces + kills, key=lambda event: event[0])


def copy_all(scene, copying, reader, dice):
    """The copying, which is over when all records were read. What was read."""
    onlooker = scene.run(reader)
    events = plan(scene, copying, dice)
    source = Source(scene.bootstrap, "from", [str(number) for number in range(RECORDS)], PARTITIONS)
    copying.start_all()
    deadline = time.monotonic() + LONG_PATIENCE_S
    while onlooker.open:
        next_at = events[0][0] if events else RECORDS
        source.write(next_at + AHEAD)
        with scene.news:
            changed = scene.news.wait_for(lambda: not onlooker.open or events and len(onlooker.lines) >= next_at
                                          or not all(copier.open for copier in copying.copiers), max(0, deadline - time.monotonic()))
        require(changed, f"{len(onlooker.lines)} of {RECORDS} were read within {LONG_PATIENCE_S} s; "
                f"{[copier.lines[-3:] for copier in copying.copiers]}")
        copying.restart_ended()
        if events and len(onlooker.lines) >= next_at:
            events.pop(0)[1]()
    copying.finish()
    for reason, times in collections.Counter(copying.told("aborted") + copying.told("error")).items():
        print(f"    {times} × {reason}", flush=True)
    require(onlooker.process.wait(PATIENCE_S) == 0, f"the reader failed:\n{onlooker.last_words()}")
    return onlooker.lines


def run(program, reader_version, brokers, protocol, wanted, alone):
    dice = transaction_scene.chance()
    scene = Scene(brokers)
    with scene.explained():
        scene.create_topics(["from", "to"], PARTITIONS)
        copying = Copying(scene, program, protocol, dice, alone)
        reader = [*java("transactions", reader_version, "Reader"), scene.bootstrap, "to", str(RECORDS)]
        seen = copy_all(scene, copying, reader, dice)
        check_copies("the reader that looked on", by_partition(seen))
        scene.require_no_open_transactions()
        check_copies("librdkafka afterwards", read(scene.bootstrap, "to", PARTITIONS))
        again = scene.run(reader)
        require(again.process.wait(PATIENCE_S) == 0, f"the reader failed:\n{again.last_words()}")
        again.listeners[0].join(PATIENCE_S)
        check_copies("Java afterwards", by_partition(again.lines))
        check_offsets(scene.bootstrap)
        check_version(scene, copying, wanted)
        scene.stop_all()
    return (f"{RECORDS} records once and in order in {len(copying.told('committed'))} whole transactions of version {wanted}, "
            f"{protocol} group; {KILLS} copiers and 3 brokers killed, 1 stopped; aborted {len(copying.told('aborted'))}, "
            f"gave up {len(copying.told('error'))}")


class Check:
    """A row in the table of checks."""

    def __init__(self, version, brokers, protocol, wanted):
        self.version, self.brokers, self.protocol, self.wanted = version, brokers, protocol, wanted
        self.name = f"transactions-java-{version}-{'one' if brokers == 1 else 'cluster'}-{protocol}"

    def missing(self):
        return needs(self.brokers)

    def run(self):
        return run(lambda: java("transactions", self.version, "Copier"), self.version, self.brokers, self.protocol, self.wanted, alone=False)


class PythonCheck:
    """A row in the table of checks, of a client in Python: one broker, and one copier."""

    def __init__(self, folder, name, version, differences=()):
        self.folder, self.name, self.version, self.differences = folder, f"transactions-{name}", version, differences

    def missing(self):
        return missing(PYTHON) or needs(1)

    def run(self):
        place = environment(self.folder)
        program = [os.path.join(place, "venv", "bin", "python"), os.path.join(place, "copier.py")]
        return run(lambda: program, "4.4.0", 1, "classic", 1, alone=True)


CHECKS = [Check("4.4.0", 1, "classic", 2), Check("4.4.0", 3, "classic", 2), Check("4.4.0", 3, "consumer", 2), Check("3.9.1", 1, "classic", 1),
          PythonCheck("aiokafka", "aiokafka", "0.14.0", (
              "`transactions-aiokafka`: its transactions name the group and not the member, so that only a copier which is alone, and comes "
              "back with its transactional id, copies exactly once.",)),
          PythonCheck("kafka_python", "kafka-python", "3.0.12")]
