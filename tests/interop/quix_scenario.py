"""Quix Streams counts keys exactly once, with state in a changelog, while the program and the broker are killed. See README.md."""

import collections
import os

import transaction_scene
from faults import play, spread
from scenario import require
from toolchain import PYTHON, environment, missing
from transaction_scene import PATIENCE_S, Scene, java, needs
from transactions_test import BACKOFF, read

from confluent_kafka import Producer

RECORDS = 30_000
KEYS = 101
PARTITIONS = 3
AHEAD = 6_000


class Numbers:
    """Writes records with keys; equal keys go to one partition."""

    def __init__(self, bootstrap):
        self.client = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0, **BACKOFF})
        self.written = 0

    def write(self, end):
        for number in range(self.written, end):
            key = f"k{number % KEYS}"
            self.client.produce("numbers", f"{key} {number}", key=key, partition=number % KEYS % PARTITIONS)
            self.client.poll(0)
        require(self.client.flush(PATIENCE_S) == 0, "the records could not be written")
        self.written = max(self.written, end)


class Counter:
    """The program. One that was killed comes back with the state that it had, or without."""

    def __init__(self, scene):
        self.scene, self.lives = scene, 0
        self.start()

    def start(self, fresh=False):
        self.lives += fresh
        place = environment("quixstreams")
        self.program = self.scene.run([os.path.join(place, "venv", "bin", "python"), os.path.join(place, "count.py"),
                                       self.scene.bootstrap, os.path.join(self.scene.folder, f"state{self.lives}")])

    def kill(self, fresh=False):
        self.program.kill()
        self.start(fresh)


def check_counts(who, values):
    """Each key was counted from 1 to its number, each step once and in order."""
    seen = collections.Counter()
    for value in values:
        key, count = value.split()
        seen[key] += 1
        require(int(count) == seen[key], f"{who}: {key} is {count} where {seen[key]} belongs")
    expected = collections.Counter(f"k{number % KEYS}" for number in range(RECORDS))
    require(seen == expected, f"{who}: {sum(seen.values())} of {RECORDS} are counted, or keys that never were")


def run():
    dice = transaction_scene.chance()
    scene = Scene(1)
    with scene.explained():
        scene.create_topics(["numbers", "counts"], PARTITIONS)
        reader = scene.run([*java("transactions", "4.4.0", "Reader"), scene.bootstrap, "counts", str(RECORDS)])
        numbers, counter, broker = Numbers(scene.bootstrap), Counter(scene), scene.brokers[0]
        actions = [lambda: scene.kill_and_restart(broker), counter.kill, lambda: scene.kill_and_restart(broker),
                   lambda: counter.kill(fresh=True), lambda: scene.stop_and_restart(broker), lambda: scene.kill_and_restart(broker)]
        lines = play(scene, reader, RECORDS, spread(RECORDS, actions, dice), numbers.write, AHEAD, lambda: [counter.program])
        check_counts("the reader that looked on", [line.split(" ", 1)[1] for line in lines])
        require((code := counter.program.leave()) == 0, f"the program ended with {code}:\n{counter.program.last_words()}")
        scene.require_no_open_transactions()
        values = read(scene.bootstrap, "counts", PARTITIONS)
        check_counts("librdkafka afterwards", [value for part in values.values() for value in part])
        scene.stop_all()
    return (f"{RECORDS} records of {KEYS} keys, each counted once and in order, once with all state from the changelog; the program killed "
            "2 times, the broker 3 times and stopped once")


class Check:
    """A row in the table of checks."""

    name, version = "quixstreams", "3.28.1"

    def missing(self):
        return missing(PYTHON) or needs(1)

    def run(self):
        return run()


CHECKS = [Check()]
