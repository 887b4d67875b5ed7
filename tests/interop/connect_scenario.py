"""Kafka Connect, distributed, with exactly-once source connectors, while workers and the broker are killed. See README.md.

The connectors are Kafka's own FileStreamSource, which lets the workers commit records and offsets in one transaction."""

import json
import os
import time
import urllib.error
import urllib.request

import transaction_scene
from faults import check_ascending, check_once, play, spread
from scenario import require
from transaction_scene import PATIENCE_S, Scene, java, needs
from transactions_test import read

import services

LINES = 30_000  # of each file
FILES = 2
WORKERS = 2
PARTITIONS = 3
AHEAD = 4_000
MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
STATES = ("UNASSIGNED", "RUNNING", "RESTARTING")


class Worker:
    """A worker of the Connect cluster. It keeps its port, so that the others find it again."""

    def __init__(self, scene, version, number):
        self.scene, self.version = scene, version
        self.port = services.free_port()
        self.file = os.path.join(scene.folder, f"worker{number}.properties")
        with open(self.file, "w", encoding="utf-8") as text:
            text.writelines(f"{key}={value}\n" for key, value in self.settings().items())
        self.program = None

    def settings(self):
        internal = {f"{kind}.storage.{key}": value for kind in ("config", "offset", "status")
                    for key, value in {"topic": f"connect-{kind}", "replication.factor": 1}.items()}
        return {**internal, "bootstrap.servers": self.scene.bootstrap, "group.id": "connect", "exactly.once.source.support": "enabled",
                "listeners": f"http://127.0.0.1:{self.port}", "key.converter": "org.apache.kafka.connect.storage.StringConverter",
                "value.converter": "org.apache.kafka.connect.storage.StringConverter", "offset.storage.partitions": 5,
                "status.storage.partitions": 3, "session.timeout.ms": 6000, "heartbeat.interval.ms": 500,
                "scheduled.rebalance.max.delay.ms": 1000, "reconnect.backoff.max.ms": 200, "producer.reconnect.backoff.max.ms": 200,
                "consumer.reconnect.backoff.max.ms": 200, "admin.reconnect.backoff.max.ms": 200}

    def start(self):
        self.program = self.scene.run([*java("connect", self.version, MAIN), self.file])

    def kill(self):
        self.program.kill()
        self.start()

    def stop(self):
        code = self.program.terminate()
        require(code in (0, 143), f"a worker ended with {code}:\n{self.program.last_words()}")
        self.start()

    def ask(self, path, method="GET", body=None):
        """What its REST interface answers, as soon as it does."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method,
                                         data=json.dumps(body).encode() if body is not None else None,
                                         headers={"Content-Type": "application/json"})
        deadline, reason = time.monotonic() + 4 * PATIENCE_S, None
        while time.monotonic() < deadline and self.program.open:
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                    return json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                reason = error.read().decode()
                require(error.code in (404, 409, 500, 503), f"{method} {path}: {error.code} {reason}")
            except OSError as error:  # it is starting
                reason = error
            time.sleep(0.2)
        raise RuntimeError(f"{method} {path} is not answered: {reason}\n{self.program.last_words()}")


class Files:
    """The files that the connectors read; they grow as far as they are told to."""

    def __init__(self, folder):
        self.paths = [os.path.join(folder, f"numbers{i}.txt") for i in range(FILES)]
        self.written = [0] * FILES
        for path in self.paths:
            open(path, "w", encoding="utf-8").close()

    def write(self, end):
        """`end` counts the lines of all files."""
        for i, path in enumerate(self.paths):
            upto = max(self.written[i], min(LINES, -(-end // FILES)))
            with open(path, "a", encoding="utf-8") as file:
                file.writelines(f"{i * LINES + number}\n" for number in range(self.written[i], upto))
            self.written[i] = upto


def connectors(paths):
    for i, path in enumerate(paths):
        yield f"numbers-{i}", {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1",
                               "file": path, "topic": "numbers", "batch.size": "200", "exactly.once.support": "required"}


def check_numbers(who, values):
    """`values` by partition. Each number once; those of a file stand in its order."""
    check_once(who, [int(value) for part in values.values() for value in part], range(FILES * LINES))
    for partition, part in values.items():
        for i in range(FILES):
            check_ascending(f"{who}, partition {partition}, file {i}", [int(value) for value in part if int(value) // LINES == i])


def check_offsets(worker, paths):
    """The offsets that the connectors have committed are the ends of their files."""
    for (name, _), path in zip(connectors(paths), paths):
        offsets = [each["offset"]["position"] for each in worker.ask(f"/connectors/{name}/offsets")["offsets"]]
        require(offsets == [os.path.getsize(path)], f"{name} has committed {offsets} of {os.path.getsize(path)} bytes")
        tasks = worker.ask(f"/connectors/{name}/status")["tasks"]
        require(all(task["state"] in STATES for task in tasks), f"{name} has the tasks {tasks}")


def run(version):
    dice = transaction_scene.chance()
    scene = Scene(1)
    with scene.explained():
        scene.create_topics(["numbers"], PARTITIONS)
        files, workers = Files(scene.folder), [Worker(scene, version, i) for i in range(WORKERS)]
        for worker in workers:
            worker.start()
        for name, config in connectors(files.paths):
            workers[0].ask(f"/connectors/{name}/config", "PUT", config)
        reader = scene.run([*java("transactions", "4.4.0", "Reader"), scene.bootstrap, "numbers", str(FILES * LINES)])
        broker = scene.brokers[0]
        actions = [lambda: scene.kill_and_restart(broker), lambda: dice.choice(workers).kill(), lambda: scene.kill_and_restart(broker),
                   lambda: dice.choice(workers).kill(), lambda: dice.choice(workers).stop(), lambda: scene.kill_and_restart(broker)]
        seen = play(scene, reader, FILES * LINES, spread(FILES * LINES, actions, dice), files.write, AHEAD,
                    lambda: [worker.program for worker in workers])
        pairs = [line.split(" ", 1) for line in seen]
        check_numbers("the reader that looked on", {i: [value for part, value in pairs if int(part) == i] for i in range(PARTITIONS)})
        scene.require_no_open_transactions()
        check_numbers("librdkafka afterwards", read(scene.bootstrap, "numbers", PARTITIONS))
        check_offsets(workers[0], files.paths)
        for worker in workers:
            worker.program.terminate()
        scene.stop_all()
    return (f"{FILES * LINES} lines of {FILES} files by {WORKERS} workers, each once and in order, offsets at the ends of the files; "
            "2 workers and 3 times the broker killed, 1 worker stopped")


class Check:
    """A row in the table of checks."""

    def __init__(self, version):
        self.version, self.name = version, "connect-exactly-once"

    def missing(self):
        return needs(1)

    def run(self):
        return run(self.version)


CHECKS = [Check("4.3.1")]
