"""Flink's exactly-once sink, while the job's process and the broker are killed. See README.md."""

import glob
import os

import transaction_scene
from faults import check_ascending, check_once, play, spread
from transaction_scene import Scene, Source, java, needs
from transactions_test import read

RECORDS = 60_000
PARTITIONS = 3
AHEAD = 12_000
TRANSACTION_TIMEOUT_S = 60  # a transaction has to live until the job is back from its checkpoint and commits it
# Flink looks into classes of the JDK that are closed to it otherwise.
OPENED = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.util", "java.util.concurrent", "java.time", "java.net")]


class Job:
    """The process of the job. One that was killed goes on from the last checkpoint that is complete."""

    def __init__(self, scene, version, strategy):
        self.scene, self.version, self.strategy = scene, version, strategy
        self.folder = os.path.join(scene.folder, "checkpoints")
        os.makedirs(self.folder)
        self.start()

    def start(self):
        checkpoints = sorted(glob.glob(os.path.join(self.folder, "*", "chk-*", "_metadata")), key=os.path.getmtime)
        self.program = self.scene.run([*java("flink", self.version, "Copy", "flink", OPENED), self.scene.bootstrap, "from", "to",
                                       self.strategy, self.folder, *map(os.path.dirname, checkpoints[-1:])])

    def kill(self):
        self.program.kill()
        self.start()


def check_numbers(who, values):
    """`values` by partition: each number once, in the partition where it belongs; those of each source partition in order."""
    check_once(who, [int(value) for part in values.values() for value in part], range(RECORDS))
    for partition, part in values.items():
        numbers = list(map(int, part))
        for source in range(PARTITIONS):
            check_ascending(f"{who}, partition {partition}, from {source}", [number for number in numbers if number % PARTITIONS == source])


def run(version, strategy):
    dice = transaction_scene.chance()
    scene = Scene(1)
    with scene.explained():
        scene.create_topics(["from", "to"], PARTITIONS)
        source = Source(scene.bootstrap, "from", [str(number) for number in range(RECORDS)], PARTITIONS)
        reader = scene.run([*java("transactions", "4.4.0", "Reader"), scene.bootstrap, "to", str(RECORDS)])
        job, broker = Job(scene, version, strategy), scene.brokers[0]
        actions = [lambda: scene.kill_and_restart(broker), job.kill, lambda: scene.kill_and_restart(broker), job.kill,
                   lambda: scene.stop_and_restart(broker), lambda: scene.kill_and_restart(broker)]
        lines = play(scene, reader, RECORDS, spread(RECORDS, actions, dice), source.write, AHEAD, lambda: [job.program])
        pairs = [line.split(" ", 1) for line in lines]
        check_numbers("the reader that looked on", {i: [value for part, value in pairs if int(part) == i] for i in range(PARTITIONS)})
        job.program.leave()
        scene.require_no_open_transactions(2 * TRANSACTION_TIMEOUT_S)
        check_numbers("librdkafka afterwards", read(scene.bootstrap, "to", PARTITIONS))
        scene.stop_all()
    return f"{RECORDS} records once and in order, also from checkpoints; the process killed 2 times, the broker 3 times and stopped once"


class Check:
    """A row in the table of checks."""

    def __init__(self, version, strategy):
        self.version, self.strategy, self.name = version, strategy, f"flink-sink-{strategy.lower()}"

    def missing(self):
        return needs(1)

    def run(self):
        return run(self.version, self.strategy)


CHECKS = [Check("2.2.1", "INCREMENTING"), Check("2.2.1", "POOLING")]
