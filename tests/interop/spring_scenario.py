"""Spring for Apache Kafka: an error handler with back-off, retry topics, and transactions, while the program and the broker are killed.
See README.md."""

import transaction_scene
from faults import check_ascending, check_once, play, spread
from scenario import require
from transaction_scene import Scene, Source, java, needs
from transactions_test import read

from cluster import wait_until

RECORDS = 3_000  # of each input
PARTITIONS = 3
AHEAD = 600
INPUTS = ("handled", "retried", "moved")
OUTPUTS = {"handled": ("handled-done", "handled-dlt"), "retried": ("retried-done", "retried-failed"), "moved": ("moved-done", "moved-dlt")}
TIMEOUT_S = 300


def expected():
    """(those that succeed, those that fail to the end)"""
    return [n for n in range(RECORDS) if n % 10 != 7], [n for n in range(RECORDS) if n % 10 == 7]


def check_complete(who, numbers, wanted):
    """Each at least once, and nothing else. How many are there more than once."""
    check_once(who, sorted(set(numbers)), wanted)
    return len(numbers) - len(wanted)


def numbers_of(scene, topic):
    return {partition: list(map(int, values)) for partition, values in read(scene.bootstrap, topic, PARTITIONS).items()}


def flat(parts):
    return [number for part in parts.values() for number in part]


def wait_all_done(scene, program):
    """The copies of all three ways are complete; of at-least-once ways this can be seen only by reading."""
    def why_not():
        require(program().open, f"the program has ended by itself:\n{program().last_words()}")
        for name, topics in OUTPUTS.items():
            for topic, wanted in zip(topics, expected()):
                if missing := sorted(set(wanted) - set(flat(numbers_of(scene, topic)))):
                    return f"{len(missing)} of {topic} are missing, {missing[:5]} among them"
        return None
    reason = wait_until(why_not, TIMEOUT_S, 1)
    require(reason is None, f"after {TIMEOUT_S} s {reason}\n{program().last_words()}")


def check_all(scene):
    doubles = {}
    for name, topics in OUTPUTS.items():
        for topic, wanted in zip(topics, expected()):
            parts = numbers_of(scene, topic)
            if name == "moved":
                check_once(topic, flat(parts), wanted)
                for partition, numbers in parts.items():
                    require(all(number % PARTITIONS == partition for number in numbers), f"{topic}: foreign records in {partition}")
                    check_ascending(f"{topic}, partition {partition}", numbers)
            else:
                doubles[name] = doubles.get(name, 0) + check_complete(topic, flat(parts), wanted)
    return doubles


def run(version):
    dice = transaction_scene.chance()
    scene = Scene(1)
    with scene.explained():
        scene.create_topics([*INPUTS, *(topic for topics in OUTPUTS.values() for topic in topics)], PARTITIONS)
        program = None

        def start():
            nonlocal program
            program = scene.run([*java("spring", version, "Listeners", "spring"), scene.bootstrap])

        def kill():
            program.kill()
            start()
        start()
        succeeding = expected()[0]
        reader = scene.run([*java("transactions", "4.4.0", "Reader"), scene.bootstrap, "moved-done", str(len(succeeding))])
        sources = [Source(scene.bootstrap, name, [str(number) for number in range(RECORDS)], PARTITIONS) for name in INPUTS]

        def feed(end):  # counts what succeeds
            for source in sources:
                source.write(RECORDS if end >= len(succeeding) else end * 10 // 9)
        broker = scene.brokers[0]
        actions = [lambda: scene.kill_and_restart(broker), kill, lambda: scene.kill_and_restart(broker), kill,
                   lambda: scene.kill_and_restart(broker)]
        play(scene, reader, len(succeeding), spread(len(succeeding), actions, dice), feed, AHEAD, lambda: [program])
        wait_all_done(scene, lambda: program)
        doubles = check_all(scene)
        require((code := program.leave()) == 0, f"the program ended with {code}:\n{program.last_words()}")
        scene.require_no_open_transactions()
        scene.stop_all()
    return (f"{RECORDS} records each way, a tenth to the dead letters: transactions once and in order; error handler and retry topics without loss "
            f"({doubles['handled']} and {doubles['retried']} doubles); the program killed 2 times, the broker 3 times")


class Check:
    """A row in the table of checks."""

    differences = ("`spring`: without transactions, its error handler and its retry topics deliver at least once: what a killed program had not "
                   "committed is done again.",)

    def __init__(self, version):
        self.version, self.name = version, "spring"

    def missing(self):
        return needs(1)

    def run(self):
        return run(self.version)


CHECKS = [Check("4.1.1")]
