"""What every client has to do as a member of a group, and what a group of different clients has to do. See README.md."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

from group_scene import Member, Scene  # noqa: E402
from kafka_messages import Connection  # noqa: E402
from naru_process import wait_until  # noqa: E402
from scenario import require  # noqa: E402

PARTITIONS = 4
CONSUMER_GROUP_HEARTBEAT = 68
MIXED = ("confluent", "java-2.8.2", "java-4.1.0", "franz", "sarama", "rdkafka")


class ClientGroup:
    """A topic that is written to all the time, and members of one group that read it."""

    def __init__(self, scene, name, partitions):
        self.scene, self.name, self.count = scene, name, 0
        self.partitions = scene.create_topic(name, partitions)
        self.feed = scene.feed(name, partitions)
        self.everyone = []

    def join(self, client, strategy):
        self.count += 1
        command = [*client.program(), "group", self.scene.broker.address, self.name, f"group of {self.name}", strategy]
        member = self.scene.keep(Member(f"{client.name} {self.count}", command, self.scene.news))
        self.everyone.append(member)
        return member

    def share(self, *members):
        """Until the members have equal shares of all partitions and have read of them."""
        each, more = divmod(len(self.partitions), len(members))
        self.scene.wait_shared(members, self.partitions, *[each + (i < more) for i in range(len(members))])
        self.read_on(*members)

    def read_on(self, *members):
        seen = [len(member.records) for member in members]
        self.scene.wait(lambda: all(len(member.records) > count + 30 for member, count in zip(members, seen)), "all read on")

    def commit_on(self):
        """Until more is committed of every partition than now. Some clients notice only by a heartbeat that the broker was gone."""
        group = f"group of {self.name}"
        before = self.scene.committed(group)
        wait_until(lambda: all(offset > before.get(partition, -1) for partition, offset in self.scene.committed(group).items()),
                   "more is committed", self.scene.broker)

    def leave(self, member):
        require(member.leave() == 0, f"{member} did not end well")

    def finish(self, last):
        """Nothing was left out, and the last one has committed all when it is gone. How many records were read twice."""
        sent = self.feed.stop()
        self.scene.wait_read(self.everyone, sent)
        self.leave(last)
        group = f"group of {self.name}"
        state = state_of(self.scene, group)
        require(state == "Empty", f"the group is {state} in the end")
        expected = {f"{self.name}/{i}": len(range(i, sent, len(self.partitions))) for i in range(len(self.partitions))}
        committed = self.scene.committed(group)
        require(committed == expected, f"committed is {committed}, not {expected}")
        return sum(len(member.records) for member in self.everyone) - sent


def join_leave_and_die(scene, client, strategy):
    group = ClientGroup(scene, f"{client.name}-{strategy}", PARTITIONS)
    one = group.join(client, strategy)
    group.share(one)
    two = group.join(client, strategy)
    group.share(one, two)
    group.leave(one)
    group.share(two)
    three = group.join(client, strategy)
    group.share(two, three)
    three.kill()
    group.share(two)
    group.commit_on()
    scene.broker.kill()
    scene.broker.start()
    group.share(two)
    group.commit_on()
    doubles = group.finish(two)
    return f"{strategy} ({doubles} records twice)"


def state_of(scene, group):
    """By the list, which has groups of all kinds."""
    with Connection(scene.broker) as connection:
        return {each.group_id: each.group_state for each in connection.call("ListGroups", 5).groups}.get(group)


def offers_consumer_protocol(scene):
    with Connection(scene.broker) as connection:
        keys = connection.call("ApiVersions", 0).api_keys
    return any(each.api_key == CONSUMER_GROUP_HEARTBEAT for each in keys)


def told(scene, work):
    """What it returns; if it fails, with the end of the broker's log."""
    try:
        result = work()
        require(scene.broker.terminate() == 0, "the broker did not stop cleanly")
        return result
    except (RuntimeError, AssertionError) as problem:
        raise RuntimeError(f"{problem}\nThe broker's log ends with:\n{scene.broker.log[-3000:]}") from problem
    finally:
        scene.close()


class Check:
    """The row of a client's groups in the table of checks."""

    def __init__(self, client):
        self.client, self.name, self.version = client, f"groups-{client.name}", client.version

    def missing(self):
        return self.client.missing()

    def run(self):
        scene = Scene("--set", "group.consumer.session.timeout.ms=6000", "--set", "group.consumer.heartbeat.interval.ms=500")

        def work():
            passed = []
            for strategy in self.client.strategies:
                if strategy == "consumer" and not offers_consumer_protocol(scene):
                    passed.append("the consumer protocol is not offered yet")
                else:
                    passed.append(join_leave_and_die(scene, self.client, strategy))
            return "; ".join(passed)
        return told(scene, work)


class MixedCheck:
    """One group of clients that know the assignor "range": they come one after the other, and leave in the same order."""

    name, version = "groups-mixed", ""

    def __init__(self, clients):
        self.clients = [client for client in clients if client.name in MIXED]

    def missing(self):
        return next(filter(None, (client.missing() for client in self.clients)), None)

    def run(self):
        scene = Scene()

        def work():
            group = ClientGroup(scene, "mixed", 2 * len(self.clients))
            members = []
            for client in self.clients:
                members.append(group.join(client, "range"))
                group.share(*members)
            described = scene.describe("group of mixed")
            require((described.group_state, described.protocol_data) == ("Stable", "range"), f"the group is {described}")
            while len(members) > 1:
                group.leave(members.pop(0))
                group.share(*members)
            doubles = group.finish(members[0])
            return f"{' '.join(client.name for client in self.clients)} ({doubles} records twice)"
        return told(scene, work)
