"""What exporters of metrics ask for, through franz-go and its kadm: the numbers have to be those of the records, also when the broker was
killed. See README.md."""

import contextlib
import os

from confluent_kafka import Consumer, Producer, TopicPartition

import transaction_scene
from complaints import require_release
from scenario import require
from toolchain import built, execute, missing, older
from transaction_scene import PATIENCE_S, Scene
from transactions_test import BACKOFF

TOPIC, GROUP, PARTITIONS = "watched", "watchers", 3
ROUNDS = 5
OLDEST_GUESS = (0, 11)  # the first release with transactions and this format of records
CONNECTIONS = 4  # more than a client of one broker has


class Disconnected(RuntimeError):
    """The question failed with its connection."""


class Monitor:
    """The program, which asks whenever it is told to."""

    def __init__(self, scene):
        folder = built("go", "go", lambda place: execute("go", "build", "-o", "bin/", "./...", folder=place))
        self.scene, self.heard, self.failed = scene, 0, 0
        self.program = scene.run([os.path.join(folder, "bin", "monitor"), scene.bootstrap, GROUP])

    def ask_again(self):
        """Asks until there is an answer: connections to the broker before it was killed are noticed by questions that fail."""
        for _ in range(CONNECTIONS):
            with contextlib.suppress(Disconnected):
                return self.ask()
            self.failed += 1
        return self.ask()

    def ask(self):
        """{(name, label): value}, as text."""
        program = self.program
        program.process.stdin.write("ask\n")
        program.process.stdin.flush()
        with self.scene.news:
            told = self.scene.news.wait_for(lambda: "end" in program.lines[self.heard:] or not program.open, PATIENCE_S)
        require(told and program.open, f"the monitor does not answer:\n{program.last_words()}")
        lines = program.lines[self.heard:]
        self.heard = len(program.lines)
        errors = [line for line in lines if line.startswith("error")]
        if any("EOF" in line or "reset" in line or "refused" in line for line in errors):
            raise Disconnected(errors)
        require(not errors, f"the monitor says {errors}")
        return {tuple(line.split(" ")[1:3]): line.split(" ", 3)[3] for line in lines if line.startswith("metric")}


class Load:
    """Writes to the topic and commits in the group; knows what the numbers have to be."""

    def __init__(self, bootstrap, dice):
        self.bootstrap, self.dice = bootstrap, dice
        self.ends, self.places = [0] * PARTITIONS, [0] * PARTITIONS

    def go_on(self):
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "log_level": 0, **BACKOFF})
        for partition in range(PARTITIONS):
            for _ in range(count := self.dice.randrange(1, 2000)):
                producer.produce(TOPIC, b"x" * 100, partition=partition)
            self.ends[partition] += count
        require(producer.flush(PATIENCE_S) == 0, "the records could not be written")
        self.places = [self.dice.randrange(place, end + 1) for place, end in zip(self.places, self.ends)]
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": GROUP, "enable.auto.commit": False, **BACKOFF})
        with contextlib.closing(consumer):
            consumer.commit(offsets=[TopicPartition(TOPIC, i, place) for i, place in enumerate(self.places)], asynchronous=False)

    def expected(self):
        wanted = {("brokers", "all"): 1, ("partitions", TOPIC): PARTITIONS, ("cleanup", TOPIC): "delete"}
        for i, (end, place) in enumerate(zip(self.ends, self.places)):
            label = f"{TOPIC}/{i}"
            wanted |= {("low", label): 0, ("high", label): end, ("committed", label): end, ("lag", label): end - place}
        return {key: str(value) for key, value in wanted.items()}


def check(metrics, load):
    expected = load.expected()
    wrong = {key: (metrics.get(key), value) for key, value in expected.items() if metrics.get(key) != value}
    require(not wrong, f"(told, right): {wrong}")
    written = sum(load.ends) * 100
    require(int(metrics["bytes", TOPIC]) >= written, f"{metrics['bytes', TOPIC]} bytes are told, and {written} were written")


def run():
    dice = transaction_scene.chance()
    scene = Scene(1)
    with scene.explained():
        scene.create_topics([TOPIC], PARTITIONS)
        monitor, load = Monitor(scene), Load(scene.bootstrap, dice)
        for _ in range(ROUNDS):
            load.go_on()
            check(monitor.ask(), load)
            scene.kill_and_restart(scene.brokers[0])
            scene.wait_whole()
            check(metrics := monitor.ask_again(), load)
        require((code := monitor.program.leave()) == 0, f"the monitor ended with {code}")
        scene.stop_all()
    guess = metrics["version", str(scene.brokers[0].number)]
    require_release(guess, OLDEST_GUESS)
    return f"offsets, lag, sizes and configuration as written and committed, across {ROUNDS} × kill -9 ({monitor.failed} questions failed with their connections); taken for \"{guess}\""


class Check:
    """A row in the table of checks."""

    name, version = "monitor-franz", "1.22.2"
    differences = ("`monitor-franz`: kminion itself could not be fetched: for each of its module names, Go's module proxy said \"this module version "
                   "is not available\". What is tried is the library that it is made of, franz-go with kadm 1.19.0, with the questions that such "
                   "an exporter asks.",)

    def missing(self):
        hint = "go 1.26 or newer"
        return missing({"go": hint}) or (f"needs {hint}" if older(["go", "version"], (1, 26)) else None)

    def run(self):
        return run()


CHECKS = [Check()]
