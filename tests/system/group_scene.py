"""Groups of stock clients for tests: members as processes, a producer that never rests, and waiting for what they tell."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kafka_messages import Connection
from naru_process import PATIENCE_S, Broker

HERE = os.path.dirname(os.path.abspath(__file__))
Record = collections.namedtuple("Record", "partition offset value at")
# Rebalances begin at once, and tests may have short sessions.
SETTINGS = ["--set", "group.initial.rebalance.delay.ms=0", "--set", "group.min.session.timeout.ms=1000"]


def quiet(broker):
    """For clients that outlive their broker; they would complain."""
    return {"bootstrap.servers": broker.address, "log_level": 0}


class Member:
    """A process that prints the lines of group_member.py. What it has told so far can be looked at at any time."""

    def __init__(self, name, command, news):
        self.name, self.news = name, news
        self.assignment, self.records, self.events, self.committed, self.errors = set(), [], [], {}, []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.complaints = []
        self.listeners = [threading.Thread(target=self._listen, args=each, daemon=True)
                          for each in [(self.process.stdout, self.hear), (self.process.stderr, self.complaints.append)]]
        for each in self.listeners:
            each.start()

    def _listen(self, stream, heard):
        for line in stream:
            if not line.endswith("\n"):
                break  # cut off by being killed
            with self.news:
                heard(line)
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def hear(self, line):
        what, *rest = line.split()
        if what == "record":
            self.records.append(Record(rest[0], int(rest[1]), int(rest[2]), time.monotonic()))
        elif what == "committed":
            self.committed.update(zip(rest[::2], map(int, rest[1::2])))
        elif what == "error":
            self.errors.append(" ".join(rest))
        else:
            self.events.append((what, frozenset(rest)))
            self.assignment = self.assignment | set(rest) if what == "assigned" else self.assignment - set(rest)

    def rebalances(self):
        return sum(what == "assigned" for what, _ in self.events)

    def values(self):
        return [record.value for record in self.records]

    def ended(self):
        return self.process.poll() is not None

    def leave(self):
        """In order: the library's close()."""
        self.process.stdin.close()
        return self._end()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def _end(self):
        code = self.process.wait(PATIENCE_S)
        for each in self.listeners:
            each.join(PATIENCE_S)
        with self.news:
            self.assignment = set()
        return code

    def close(self):
        if not self.ended():
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def __str__(self):
        return (f"{self.name}: has {sorted(self.assignment)}, read {len(self.records)}, errors {self.errors}, "
                f"events {self.events[-6:]}\n{''.join(self.complaints)[-1500:]}")


class KcatMember(Member):
    """kcat's balanced consumer, which tells rebalances on its standard error. When it is told to end, it commits what it has received but
    drops what it has not printed yet."""

    def __init__(self, name, broker, group, topics, news, *options):
        super().__init__(name, ["kcat", "-b", broker.address, "-E", "-u", "-f", "record %t/%p %o %s\\n", "-X", "auto.offset.reset=earliest",
                                *options, "-G", group, *topics], news)

    def _listen(self, stream, heard):
        super()._listen(stream, self.hear_kcat if stream is self.process.stderr else heard)

    def hear_kcat(self, line):
        self.complaints.append(line)
        if told := re.match(r"% Group \S+ rebalanced \(.*\): (assigned|revoked): (.*)", line):
            partitions = re.findall(r"(\S+) \[(\d+)\]", told.group(2))
            self.hear(" ".join([told.group(1), *(f"{topic}/{partition}" for topic, partition in partitions)]))

    def leave(self):
        self.process.send_signal(signal.SIGTERM)
        return self._end()


class Feed:
    """Sends the numbers from `first` on to the partitions of a topic in turn, until it is stopped."""

    def __init__(self, broker, topic, partitions, first=0, per_second=400):
        self.topic, self.partitions, self.first, self.pause_s = topic, partitions, first, 1 / per_second
        self.acknowledged, self.failures = first, []
        self.client = Producer({**quiet(broker), "enable.idempotence": True, "linger.ms": 0,
                                "message.timeout.ms": PATIENCE_S * 1000, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200})
        self.halt = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        sent = self.first
        while not self.halt.wait(self.pause_s):
            self.client.produce(self.topic, str(sent), partition=sent % self.partitions, on_delivery=self._delivered)
            sent += 1
            self.client.poll(0)
        self.client.flush(PATIENCE_S)

    def _delivered(self, error, _):
        if error:
            self.failures.append(error)
        else:
            self.acknowledged += 1

    def stop(self):
        """How many there are now."""
        self.halt.set()
        self.thread.join(PATIENCE_S)
        if self.failures:
            raise AssertionError(f"not produced: {self.failures[:3]}")
        return self.acknowledged


class Scene:
    """A broker with topics, members and feeds; close() ends all of them."""

    def __init__(self, *settings):
        self.broker = Broker(*SETTINGS, *settings)
        self.news = threading.Condition()
        self.members, self.feeds = [], []

    def close(self):
        for feed in self.feeds:
            feed.halt.set()
        for member in self.members:
            member.close()
        self.broker.close()

    def admin(self):
        return AdminClient(quiet(self.broker))

    def create_topic(self, name, partitions):
        admin = self.admin()
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE_S)
        return {f"{name}/{partition}" for partition in range(partitions)}

    def add_partitions(self, name, total):
        admin = self.admin()
        admin.create_partitions([NewPartitions(name, total)])[name].result(PATIENCE_S)

    def produce(self, topic, partitions, count):
        """The numbers from 0 on, to the partitions in turn."""
        client = Producer(quiet(self.broker))
        for i in range(count):
            client.produce(topic, str(i), partition=i % partitions)
        assert client.flush(PATIENCE_S) == 0

    def feed(self, topic, partitions, **how):
        self.feeds.append(Feed(self.broker, topic, partitions, **how))
        return self.feeds[-1]

    def member(self, group, *topics, library="confluent", **config):
        """Its configuration as the library calls it, with underscores for dots."""
        if library == "confluent":
            config = {"heartbeat.interval.ms": 200, "session.timeout.ms": 30000, "auto.commit.interval.ms": 200,
                      **{key.replace("_", "."): value for key, value in config.items()}}
        else:
            config = {"heartbeat_interval_ms": 200, "session_timeout_ms": 30000, "auto_commit_interval_ms": 200, **config}
        command = [sys.executable, os.path.join(HERE, "group_member.py"), library, self.broker.address, group, ",".join(topics),
                   json.dumps(config)]
        return self.keep(Member(f"{library} {len(self.members)}", command, self.news))

    def kcat(self, group, *topics):
        options = ["-X", "heartbeat.interval.ms=200", "-X", "session.timeout.ms=30000", "-X", "auto.commit.interval.ms=200"]
        return self.keep(KcatMember(f"kcat {len(self.members)}", self.broker, group, topics, self.news, *options))

    def keep(self, member):
        self.members.append(member)
        return member

    def wait(self, condition, what):
        """Until it is true. It is looked at whenever a member tells something."""
        with self.news:
            if not self.news.wait_for(condition, PATIENCE_S):
                members = "\n".join(map(str, self.members))
                raise AssertionError(f"{what}: not within {PATIENCE_S} s\n{members}\n{self.broker.log[-3000:]}")

    def wait_shared(self, members, partitions, *shares):
        """Until these members have all partitions between them, nobody the same; with so many for each, if that is said."""
        def shared():
            owned = [partition for member in members for partition in member.assignment]
            return sorted(owned) == sorted(partitions) and (
                not shares or sorted(len(member.assignment) for member in members) == sorted(shares))
        self.wait(shared, f"{len(partitions)} partitions are shared by {len(members)} members")

    def wait_read(self, members, count):
        """Until they have read all numbers up to this one between them."""
        def missing():
            return set(range(count)).difference(*(member.values() for member in members))
        try:
            self.wait(lambda: not missing(), f"{count} records are read")
        except AssertionError as problem:
            raise AssertionError(f"{len(missing())} are missing, the first are {sorted(missing())[:5]}\n{problem}") from None

    def describe(self, group):
        with Connection(self.broker) as connection:
            return connection.call("DescribeGroups", 5, groups=[group]).groups[0]

    def committed(self, group):
        """{topic/partition: offset} of all that the group has committed."""
        with Connection(self.broker) as connection:
            answer = connection.call("OffsetFetch", 8, groups=[{"group_id": group, "topics": None}]).groups[0]
        assert answer.error_code == 0, answer
        return {f"{topic.name}/{partition.partition_index}": partition.committed_offset
                for topic in answer.topics for partition in topic.partitions}
