"""MirrorMaker 2 in both directions between Naru and Apache Kafka, exactly once, while each of the three is killed. See README.md."""

import os

import complaints
import transaction_scene
from faults import check_ascending, check_once, play, spread
from scenario import require
from transaction_scene import PATIENCE_S, Scene, Source, java, needs
from transactions_test import BACKOFF, read

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import apache_kafka
import services
from cluster import wait_until

RECORDS = 20_000  # in each direction
PARTITIONS = 3
AHEAD = 4_000
MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
NARU, KAFKA = "naru", "kafka"
DIRECTIONS = ((NARU, KAFKA), (KAFKA, NARU))
GROUP = "readers of the original"


def settings(bootstraps, port):
    values = {"clusters": "naru, kafka", "dedicated.mode.enable.internal.rest": "true", "listeners": f"http://127.0.0.1:{port}",
              "tasks.max": 2, "refresh.topics.interval.seconds": 5, "refresh.groups.interval.seconds": 2,
              "sync.group.offsets.enabled": "true", "sync.group.offsets.interval.seconds": 2, "emit.checkpoints.interval.seconds": 2,
              "emit.heartbeats.interval.seconds": 2, "sync.topic.acls.interval.seconds": 10, "sync.topic.configs.interval.seconds": 10,
              "offset.lag.max": 10}
    for kind in ("", "config.storage.", "offset.storage.", "status.storage.", "checkpoints.topic.", "heartbeats.topic.",
                 "offset-syncs.topic."):
        values[f"{kind}replication.factor"] = 1
    for name, bootstrap in bootstraps.items():
        values |= {f"{name}.bootstrap.servers": bootstrap, f"{name}.exactly.once.source.support": "enabled",
                   f"{name}.consumer.isolation.level": "read_committed", f"{name}.offset.storage.partitions": 3}
    for source, target in DIRECTIONS:
        values |= {f"{source}->{target}.enabled": "true", f"{source}->{target}.topics": f"of-{source}"}
    # What is killed comes back at once, here.
    for client in ("", "producer.", "consumer.", "admin."):
        values[f"{client}reconnect.backoff.max.ms"] = 200
    return values | {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "scheduled.rebalance.max.delay.ms": 500}


class Mirror:
    """The process of MirrorMaker, with all its connectors inside."""

    def __init__(self, scene, version, bootstraps):
        self.scene, self.version = scene, version
        self.file = os.path.join(scene.folder, "mirror.properties")
        with open(self.file, "w", encoding="utf-8") as text:
            text.writelines(f"{key} = {value}\n" for key, value in settings(bootstraps, services.free_port()).items())
        self.everyone = []
        self.start()

    def start(self):
        self.program = self.scene.run([*java("mirror", self.version, MAIN), self.file])
        self.everyone.append(self.program)

    def kill(self):
        self.program.kill()
        self.start()

    def complaints(self):
        """What the logs of all its processes say about APIs that are absent: {text: times}. Apache Kafka has whatever it asks for."""
        return complaints.of_absence(line for program in self.everyone for line in program.complaints)


def check_copy(who, values):
    """`values` by partition: those of the original, in its order."""
    check_once(who, [int(value) for part in values.values() for value in part], range(RECORDS))
    for partition, part in values.items():
        numbers = list(map(int, part))
        check_ascending(f"{who}, partition {partition}", numbers)
        require(all(number % PARTITIONS == partition for number in numbers), f"{who}: records of another partition in {partition}")


def commit(bootstrap, topic, offset):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "enable.auto.commit": False, **BACKOFF})
    consumer.commit(offsets=[TopicPartition(topic, i, offset) for i in range(PARTITIONS)], asynchronous=False)
    consumer.close()


def check_group(scene, source, target, bootstraps):
    """The group's offsets come over: never behind what it has read, and not at the beginning. What stands there tells."""
    topic, copy, place = f"of-{source}", f"{source}.of-{source}", RECORDS // PARTITIONS // 2
    commit(bootstraps[source], topic, place)
    consumer = Consumer({"bootstrap.servers": bootstraps[target], "group.id": GROUP, "enable.auto.commit": False,
                         "isolation.level": "read_committed", **BACKOFF})

    def why_not():
        committed = consumer.committed([TopicPartition(copy, i) for i in range(PARTITIONS)], timeout=PATIENCE_S)
        return None if all(each.offset > 0 for each in committed) else f"committed is {committed}"
    reason = wait_until(why_not, 2 * PATIENCE_S)
    require(reason is None, f"the group of {source} does not come to {target}: {reason}")
    for each in consumer.committed([TopicPartition(copy, i) for i in range(PARTITIONS)], timeout=PATIENCE_S):
        consumer.assign([each])
        message = consumer.poll(PATIENCE_S)
        require(message is not None and not message.error(), f"nothing at {each}")
        require(int(message.value()) // PARTITIONS <= place, f"on {target} the group is at {message.value()}, and skips what it has not read")
    consumer.close()


def both(readers, bootstraps, scene, mirror, kafka, dice):
    """Both directions, one after the other, so that progress is that of one of them; what was read on each target."""
    broker, seen = scene.brokers[0], {}
    for source, target in DIRECTIONS:
        def kill_kafka():
            kafka.kill()
            kafka.start()
        actions = [lambda: scene.kill_and_restart(broker), mirror.kill, kill_kafka, lambda: scene.kill_and_restart(broker)]
        writer = Source(bootstraps[source], f"of-{source}", [str(number) for number in range(RECORDS)], PARTITIONS)
        lines = play(scene, readers[target], RECORDS, spread(RECORDS, actions, dice), writer.write, AHEAD, lambda: [mirror.program])
        pairs = [line.split(" ", 1) for line in lines]
        seen[target] = {i: [value for part, value in pairs if int(part) == i] for i in range(PARTITIONS)}
    return seen


def create_copies(bootstraps):
    """The originals, and the copies before MirrorMaker makes them: whose readers are there from the beginning."""
    for source, target in DIRECTIONS:
        for bootstrap, name in [(bootstraps[source], f"of-{source}"), (bootstraps[target], f"{source}.of-{source}")]:
            admin = AdminClient({"bootstrap.servers": bootstrap})  # in use until the result is there
            admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(PATIENCE_S)


def run(version):
    dice = transaction_scene.chance()
    scene = Scene(1)
    with scene.explained():
        kafka = apache_kafka.ApacheKafka(os.path.join(scene.folder, "apache-kafka"))
        scene.undo.callback(kafka.kill)
        kafka.start()
        bootstraps = {NARU: scene.bootstrap, KAFKA: kafka.bootstrap}
        create_copies(bootstraps)
        readers = {target: scene.run([*java("transactions", "4.4.0", "Reader"), bootstraps[target], f"{source}.of-{source}", str(RECORDS)])
                   for source, target in DIRECTIONS}
        mirror = Mirror(scene, version, bootstraps)
        seen = both(readers, bootstraps, scene, mirror, kafka, dice)
        for source, target in DIRECTIONS:
            check_copy(f"the reader on {target} that looked on", seen[target])
            check_copy(f"librdkafka on {target} afterwards", read(bootstraps[target], f"{source}.of-{source}", PARTITIONS))
            check_group(scene, source, target, bootstraps)
        scene.require_no_open_transactions()
        mirror.program.terminate()
        absent = mirror.complaints()
        require(not absent, f"MirrorMaker misses what Naru does not offer: {dict(absent)}")
        kafka.stop()
        scene.stop_all()
    return (f"{RECORDS} records each way, once and in order, and a group's offsets; Naru killed 4 times, MirrorMaker and Apache Kafka "
            f"{apache_kafka.VERSION} 2 times each; no API was missed")


class Check:
    """A row in the table of checks."""

    def __init__(self, version):
        self.version, self.name = version, "mirror-both-ways"

    def missing(self):
        return needs(1) or apache_kafka.missing()

    def run(self):
        return run(self.version)


CHECKS = [Check("4.3.1")]
