"""A word count of Kafka Streams, exactly once through two repartitions, while its instances and brokers are killed. See README.md."""

import collections
import os
import random
import time

import transaction_scene
from transaction_scene import PATIENCE_S, Scene, Source, java, needs
from scenario import require
from transactions_test import BACKOFF, read

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

LINES = 20_000
WORDS_PER_LINE = 5
PARTITIONS = 4
INSTANCES = 2
AHEAD = 10_000  # words, of the next fault: none finds all work done
LONG_PATIENCE_S = 900
OUTPUTS = ("words", "letters")
REPARTITIONS = ("word-count-by-word-repartition", "word-count-by-letter-repartition")
CHANGELOGS = ("word-count-count-of-words-changelog", "word-count-count-of-letters-changelog")


def some_lines(dice):
    """Words of three letters, some far more frequent than others."""
    vocabulary = ["".join(dice.choices("abcdefgh", k=3)) for _ in range(300)]
    weights = [1 / (i + 1) for i in range(len(vocabulary))]
    return [" ".join(dice.choices(vocabulary, weights, k=WORDS_PER_LINE)) for _ in range(LINES)]


def expected(lines):
    words = collections.Counter(word for line in lines for word in line.split())
    letters = collections.Counter()
    for word, count in words.items():
        letters[word[0]] += count
    return {"words": words, "letters": letters}


def check_counts(who, values, counts):
    """Each word or letter was counted from 1 to its number, each step once and in order."""
    seen = collections.Counter()
    for value in values:
        name, count = value.split()
        seen[name] += 1
        require(int(count) == seen[name], f"{who}: {name} is {count} where {seen[name]} belongs")
    wrong = {name: (seen[name], count) for name, count in counts.items() if seen[name] != count}
    require(seen == counts, f"{who}: (counted, there): {dict(list(wrong.items())[:5])}; never there: {sorted(set(seen) - set(counts))[:5]}")


class Instances:
    """The instances of the application. One that is killed comes back with the folder that it had."""

    def __init__(self, scene, version, dice):
        self.scene, self.version, self.dice = scene, version, dice
        self.running, self.everyone = [None] * INSTANCES, []

    def start(self, i):
        folder = os.path.join(self.scene.folder, f"streams{i}")
        self.running[i] = self.scene.run([*java("streams", self.version, "WordCount"), self.scene.bootstrap, folder])
        self.everyone.append(self.running[i])

    def kill_one(self):
        i = self.dice.randrange(INSTANCES)
        self.running[i].kill()
        self.start(i)

    def restart_one(self):
        i = self.dice.randrange(INSTANCES)
        code = self.running[i].leave()
        require(code == 0, f"an instance ended with {code}:\n{self.running[i].last_words()}")
        self.start(i)

    def replaced(self):
        return [line for program in self.everyone for line in program.lines if line.startswith("replaced")]


def plan(scene, instances, dice):
    """[(progress, what happens)]"""
    total = LINES * WORDS_PER_LINE
    what = [instances.kill_one, lambda: scene.bounce(scene.kill_and_restart, dice), instances.kill_one,
            lambda: scene.bounce(scene.stop_and_restart, dice), instances.kill_one,
            lambda: scene.bounce(scene.kill_until_replaced, dice), instances.restart_one]
    return [(total * (i + 1) // (len(what) + 1) - dice.randrange(total // 20), event) for i, event in enumerate(what)]


def count_all(scene, version, lines, dice):
    """The counting, which is over when all results were read. What was read of each output."""
    total = LINES * WORDS_PER_LINE
    onlookers = {topic: scene.run([*java("transactions", version, "Reader"), scene.bootstrap, topic, str(total)]) for topic in OUTPUTS}
    instances = Instances(scene, version, dice)
    events = plan(scene, instances, dice)
    for i in range(INSTANCES):
        instances.start(i)
    deadline = time.monotonic() + LONG_PATIENCE_S
    last = onlookers["letters"]
    source = Source(scene.bootstrap, "lines", lines, PARTITIONS)
    while any(onlooker.open for onlooker in onlookers.values()):
        next_at = events[0][0] if events else total
        source.write((next_at + AHEAD) // WORDS_PER_LINE)
        with scene.news:
            changed = scene.news.wait_for(
                lambda: events and len(last.lines) >= next_at or not any(onlooker.open for onlooker in onlookers.values())
                or not all(each.open for each in instances.running), max(0, deadline - time.monotonic()))
        progress = {topic: len(onlooker.lines) for topic, onlooker in onlookers.items()}
        words = "\n".join(each.last_words() for each in instances.running)
        require(changed, f"{progress} of {total} were read within {LONG_PATIENCE_S} s\n{words}")
        require(all(each.open for each in instances.running), f"an instance has ended by itself:\n{words}")
        if events and len(last.lines) >= next_at:
            events.pop(0)[1]()
    for each in instances.running:
        require((code := each.leave()) == 0, f"an instance ended with {code}:\n{each.last_words()}")
    for topic, onlooker in onlookers.items():
        require(onlooker.process.wait(PATIENCE_S) == 0, f"the reader of {topic} failed:\n{onlooker.last_words()}")
    return instances, {topic: [line.split(" ", 1)[1] for line in onlooker.lines] for topic, onlooker in onlookers.items()}


def check_internal_topics(bootstrap):
    """Streams has made them as it wanted them, and has deleted what it has read of the repartitions."""
    resources = [ConfigResource("topic", name) for name in REPARTITIONS + CHANGELOGS]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for resource, described in admin.describe_configs(resources).items():
        policy = described.result(PATIENCE_S)["cleanup.policy"].value
        wanted = "compact" if resource.name in CHANGELOGS else "delete"
        require(policy == wanted, f"{resource.name} has the policy {policy}")
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", **BACKOFF})
    try:
        for name in REPARTITIONS:
            first = sum(consumer.get_watermark_offsets(TopicPartition(name, i), PATIENCE_S)[0] for i in range(PARTITIONS))
            require(first > 0, f"nothing of {name} was deleted")
    finally:
        consumer.close()


def run(version, brokers):
    dice = transaction_scene.chance()
    scene = Scene(brokers)
    with scene.explained():
        scene.create_topics(["lines", *OUTPUTS], PARTITIONS)
        lines = some_lines(random.Random(1))
        instances, seen = count_all(scene, version, lines, dice)
        counts = expected(lines)
        scene.require_no_open_transactions()
        for topic in OUTPUTS:
            check_counts(f"the reader of {topic} that looked on", seen[topic], counts[topic])
            values = read(scene.bootstrap, topic, PARTITIONS)
            check_counts(f"librdkafka, {topic}, afterwards", [value for part in values.values() for value in part], counts[topic])
        check_internal_topics(scene.bootstrap)
        scene.stop_all()
    return (f"{LINES * WORDS_PER_LINE} words through two repartitions, each counted once and in order; 3 instances and 2 brokers killed, "
            f"1 of each stopped; {len(instances.replaced())} threads replaced")


class Check:
    """A row in the table of checks."""

    def __init__(self, version, brokers):
        self.version, self.brokers = version, brokers
        self.name = f"streams-java-{version}-{'one' if brokers == 1 else 'cluster'}"

    def missing(self):
        return needs(self.brokers)

    def run(self):
        return run(self.version, self.brokers)


CHECKS = [Check("4.3.0", 1), Check("4.3.0", 3)]
