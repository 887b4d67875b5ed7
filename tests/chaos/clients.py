"""Starts the clients of a chaos run, kills and replaces some, and follows what they tell while they run."""

import collections
import json
import os
import subprocess
import sys
import time

from services import PATIENCE_S, die_with_parent

HERE = os.path.dirname(os.path.abspath(__file__))
MEMBER = os.path.join(HERE, "..", "system", "group_member.py")
GROUPS = {"range": ("range", 2), "cooperative": ("cooperative-sticky", 3)}  # assignor, members
COMMIT_EVERY = 50

python = sys.executable


def use_python(path):
    """Clients that are started from now on run with this interpreter, which may have another librdkafka."""
    global python
    python = path


class Client:
    """A process that tells what happens on its standard output, in a file; it is read as it grows."""

    def __init__(self, name, folder, command):
        self.name = name
        self.path = os.path.join(folder, f"{name}.out")
        with open(self.path, "wb") as out, open(os.path.join(folder, f"{name}.err"), "wb") as err:
            self.process = subprocess.Popen([python, *command], stdin=subprocess.PIPE, stdout=out, stderr=err,
                                            process_group=0, preexec_fn=die_with_parent)
        self.file = open(self.path, encoding="utf-8")
        self.rest = ""
        self.wanted = True

    def news(self):
        """The lines since the last call, as words."""
        text = self.rest + self.file.read()
        *lines, self.rest = text.split("\n")
        return [words for line in lines if (words := line.split())]

    def tell_to_end(self):
        self.wanted = False
        self.process.stdin.close()

    def wait(self, patience_s):
        """Whether it has ended in order."""
        try:
            return self.process.wait(patience_s) == 0
        except subprocess.TimeoutExpired:
            return False

    def kill(self):
        self.wanted = False
        self.process.kill()
        self.process.wait()

    def ended_by_itself(self):
        """A sentence, once, if it has."""
        if not self.wanted or self.process.poll() is None:
            return None
        self.wanted = False
        return f"{self.name} has ended by itself with code {self.process.returncode}"

    def close(self):
        self.kill()
        self.process.stdin.close()
        self.file.close()


def start(cluster, name, program, *arguments):
    return Client(name, cluster.folder, [os.path.join(HERE, program), *map(str, arguments)])


def begin_groups(cluster, partitions, groups):
    """Commits offset 0 for groups that do not exist yet."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "workload.py"), "begin", cluster.bootstrap, ",".join(partitions), ",".join(groups)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"groups cannot commit their first offsets:\n{done.stderr}")


class Progress:
    """How far producers, readers and groups are."""

    def __init__(self):
        self.sent_at = {}  # value -> time, of those that are not reported yet
        self.acked = {}  # partition -> (time of sending, offset) of the youngest acknowledged record
        self.reached = collections.defaultdict(collections.Counter)  # reader or group -> partition -> next offset
        self.counts = collections.Counter()

    def hear(self, source, words):
        what, *rest = words
        if what == "sent":
            self.sent_at[rest[2]] = float(rest[0])
        elif what == "ok":
            self.counts["acknowledged"] += 1
            self.acked[rest[1]] = max(self.acked.get(rest[1], (0.0, 0)), (self.sent_at.pop(rest[3], 0.0), int(rest[2])))
        elif what in ("unknown", "refused"):
            self.counts[what] += 1
            self.sent_at.pop(rest[2], None)
        elif what in ("read", "record"):
            self.counts["read"] += 1
            self.reached[source][rest[0]] = max(self.reached[source][rest[0]], int(rest[1]) + 1)


class Clients:
    """Producers, a reader that follows, groups when they have been added, and a watcher of what they commit."""

    def __init__(self, cluster, partitions, producers, rate):
        self.cluster, self.partitions, self.rate = cluster, partitions, rate
        self.progress = Progress()
        self.numbers = collections.Counter()
        self.producers, self.members, self.retired = [], {group: [] for group in GROUPS}, []
        self.reader = self._start("reader-follow", "reader", cluster.bootstrap, ",".join(partitions), "follow")
        self.watcher = self._start("watcher", "watcher", cluster.bootstrap, ",".join(partitions), ",".join(GROUPS))
        for _ in range(producers):
            self.add_producer()

    def add_groups(self):
        begin_groups(self.cluster, self.partitions, GROUPS)
        for group, (_, count) in GROUPS.items():
            for _ in range(count):
                self.add_member(group)

    def _start(self, name, *arguments):
        return start(self.cluster, name, "workload.py", *arguments)

    def add_producer(self):
        name = f"p{self.numbers['producer']}"
        self.numbers["producer"] += 1
        self.producers.append(self._start(f"producer-{name}", "producer", name, self.cluster.bootstrap,
                                          ",".join(self.partitions), self.rate))

    def add_member(self, group):
        config = {"partition.assignment.strategy": GROUPS[group][0], "enable.auto.commit": False, "commit.every": COMMIT_EVERY,
                  "auto.offset.reset": "error",
                  "session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "socket.timeout.ms": 5000,
                  "topic.metadata.refresh.interval.ms": 2000, "check.crcs": True, "log_level": 0}
        topics = ",".join(sorted({partition.rpartition("/")[0] for partition in self.partitions}))
        command = [MEMBER, "confluent", self.cluster.bootstrap, group, topics, json.dumps(config)]
        self.members[group].append(Client(f"member-{group}-{self.numbers[group]}", self.cluster.folder, command))
        self.numbers[group] += 1

    def replace_producer(self):
        """kill -9: what it has on its way is unknown."""
        victim = self.producers.pop(0)
        victim.kill()
        self.retired.append(victim)
        self.add_producer()

    def replace_member(self, group, victim=None):
        victim = victim or self.members[group][0]
        self.members[group].remove(victim)
        victim.kill()
        self.retired.append(victim)
        self.add_member(group)

    def all(self):
        members = [member for group in self.members.values() for member in group]
        return [self.reader, self.watcher, *self.producers, *members]

    def listen(self):
        for client in [self.reader, self.watcher, *self.producers, *self.retired]:
            for words in client.news():
                self.progress.hear(client.name, words)
        for group, member in [(group, member) for group, members in self.members.items() for member in members]:
            news = member.news()
            for words in news:
                self.progress.hear(f"member-{group}", words)
            if any(words[0] == "reset" for words in news):
                self.replace_member(group, member)

    def ended_by_themselves(self):
        self.listen()
        return [sentence for client in self.all() if (sentence := client.ended_by_itself())]

    def why_no_writes_since(self, moment):
        """A partition that has not acknowledged a record that was sent after that moment; None if there is none."""
        self.listen()
        behind = [each for each in self.partitions if self.progress.acked.get(each, (0.0, 0))[0] < moment]
        return f"no record sent since then is acknowledged in {', '.join(behind)}" if behind else None

    def why_not_read(self, offsets):
        """A reader or group that has not come to these offsets; None if there is none."""
        self.listen()
        for source in ["reader-follow", *(f"member-{group}" for group in GROUPS)]:
            for partition, offset in offsets.items():
                if self.progress.reached[source][partition] <= offset:
                    return f"{source} has not come to offset {offset} of {partition}, but to {self.progress.reached[source][partition]}"
        return None

    def acknowledged_offsets(self):
        return {partition: offset for partition, (_, offset) in self.progress.acked.items()}

    def finish(self, demand):
        """Ends the producers, lets everybody read what there is, then a last reader all of it. Tells `demand` what is missing."""
        for producer in self.producers:
            producer.tell_to_end()
        for producer in self.producers:
            if not producer.wait(2 * PATIENCE_S):
                demand(f"{producer.name} could not deliver all its records", None)
        self.listen()
        ends = self.acknowledged_offsets()
        demand("readers and groups come to the end", lambda: self.why_not_read(ends))
        for client in [member for group in self.members.values() for member in group] + [self.reader]:
            client.tell_to_end()
            client.wait(PATIENCE_S)
        last = self._start("reader-last", "reader", self.cluster.bootstrap, ",".join(self.partitions), "to-the-end")
        self.retired.append(last)
        deadline = time.monotonic() + 10 * PATIENCE_S
        while last.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        if last.process.poll() is None:
            demand("the last reader does not come to the end", None)
        last.kill()
        self.watcher.tell_to_end()
        self.watcher.wait(3 * PATIENCE_S)
        self.listen()

    def close(self):
        for client in [*self.all(), *self.retired]:
            client.close()
