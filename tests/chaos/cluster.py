"""A cluster for chaos: its machines, the coordination service, the brokers, and what their metadata says."""

import collections
import contextlib
import os
import sys
import time
import unittest

from machines import Machines
from services import COORDINATION, PATIENCE_S, Broker

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from kafka_messages import Connection  # noqa: E402
from small_disk import SmallDisk  # noqa: E402

Partition = collections.namedtuple("Partition", "leader replicas isr")
View = collections.namedtuple("View", "brokers controller partitions")

SESSION_S = 3.0
ALONE = ["naru.admin.listener=", "naru.journal.bytes=8388608", "offsets.topic.num.partitions=4",
         "transaction.state.log.num.partitions=4", "group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000"]
TOGETHER = [*ALONE, f"naru.coordination.session.timeout.ms={int(SESSION_S * 1000)}", "replica.lag.time.max.ms=4000"]
SMALL_SEGMENTS = "log.segment.bytes=1048576"
METADATA_VERSION = 12


def view_of(broker):
    """The cluster as this broker tells it; None if it does not answer."""
    try:
        with Connection(broker) as connection:
            answer = connection.call("Metadata", METADATA_VERSION, topics=None)
    except (OSError, EOFError):
        return None
    partitions = {f"{topic.name}/{each.partition_index}": Partition(each.leader_id, frozenset(each.replica_nodes), frozenset(each.isr_nodes))
                  for topic in answer.topics for each in topic.partitions}
    return View(frozenset(each.node_id for each in answer.brokers), answer.controller_id, partitions)


def wait_until(why_not, patience_s, interval_s=0.1):
    """Until `why_not` has no reason any more; the last reason if that takes too long."""
    deadline = time.monotonic() + patience_s
    while reason := why_not():
        if time.monotonic() > deadline:
            return reason
        time.sleep(interval_s)
    return None


class Cluster:
    """`coordination` is a name of COORDINATION, or None for a broker that stands alone. close() ends and removes everything but the
    folder."""

    def __init__(self, folder, brokers, coordination, disk_mebibytes=64, settings=(SMALL_SEGMENTS,)):
        self.folder, self.partitions, self.settings = folder, [], settings
        names = [f"broker{number}" for number in range(1, brokers + 1)]
        self.undo = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            self.machines = Machines(["clients", "store", *names])
            undo.callback(self.machines.close)
            self.machines.enter("clients")
            self.small_disk, self.no_small_disk = None, None
            try:
                self.small_disk = SmallDisk(disk_mebibytes)
                undo.callback(self.small_disk.close)
            except unittest.SkipTest as reason:
                self.no_small_disk = str(reason)
            self.store = COORDINATION[coordination](self.machines["store"], folder) if coordination else None
            self.brokers = [self._broker(number, brokers) for number in range(1, brokers + 1)]
            for process in [*([self.store] if self.store else []), *self.brokers]:
                undo.callback(process.close)
                process.start()
            self.undo = undo.pop_all()

    def _broker(self, number, brokers):
        """The last one has the small disk."""
        data = os.path.join(self.small_disk.path, "data") if self.small_disk and number == brokers else None
        return Broker(number, self.machines[f"broker{number}"], self.folder, self.store, data=data,
                      settings=[*(TOGETHER if self.store else ALONE), *self.settings])

    def close(self):
        self.undo.close()

    @property
    def bootstrap(self):
        return ",".join(broker.address for broker in self.brokers)

    def others(self, broker):
        return [each for each in self.brokers if each is not broker]

    def views(self):
        return [view_of(broker) for broker in self.brokers if broker.running]

    def controller(self):
        return self._named(lambda view: view.controller)

    def leader(self, partition):
        return self._named(lambda view: view.partitions[partition].leader if partition in view.partitions else -1)

    def _named(self, number_of):
        """The broker that the first answer names; the first one if none does."""
        numbers = [number_of(view) for view in self.views() if view]
        return next((broker for number in numbers for broker in self.brokers if broker.number == number), self.brokers[0])

    def why_not_whole(self):
        """What is missing until every broker knows all brokers, one controller, and all partitions with a leader and all replicas in sync;
        None if nothing is."""
        controllers = set()
        for broker in self.brokers:
            view = view_of(broker)
            if view is None:
                return f"{broker.name} does not answer"
            if len(view.brokers) < len(self.brokers):
                return f"{broker.name} knows only the brokers {sorted(view.brokers)}"
            for name in self.partitions:
                if name not in view.partitions:
                    return f"{broker.name} does not know {name}"
            for name, partition in view.partitions.items():
                if partition.leader not in partition.isr or partition.isr != partition.replicas:
                    return (f"as {broker.name} sees it, {name} has leader {partition.leader}, replicas {sorted(partition.replicas)}, "
                            f"in sync {sorted(partition.isr)}")
            controllers.add(view.controller)
        if len(controllers) > 1:
            return f"the brokers know different controllers: {sorted(controllers)}"
        return None

    def why_not_started(self):
        """As why_not_whole(), but a broker that has ended will not come any more."""
        for broker in self.brokers:
            if sentence := broker.ended_by_itself():
                raise RuntimeError(sentence)
        return self.why_not_whole()

    def ended_by_themselves(self):
        """Sentences; what has ended is started again, so that the run can go on."""
        for process in [*self.brokers, *([self.store] if self.store else [])]:
            if sentence := process.ended_by_itself():
                process.start()
                yield sentence

    def create_topics(self, topics, partitions):
        """`topics`: name -> configuration. One replica on each broker, of which all but one have to be there. The names of the
        partitions."""
        count = len(self.brokers)
        needed = {"min.insync.replicas": str(max(1, count - 1))}
        wanted = [{"name": name, "num_partitions": partitions, "replication_factor": count,
                   "configs": [{"name": key, "value": value} for key, value in {**needed, **config}.items()]}
                  for name, config in topics.items()]
        with Connection(self.controller()) as connection:
            connection.sock.settimeout(PATIENCE_S)
            answer = connection.call("CreateTopics", 5, topics=wanted, timeout_ms=30_000)
        for topic in answer.topics:
            if topic.error_code != 0:
                raise RuntimeError(f"topic {topic.name} was not created: error {topic.error_code}, {topic.error_message}")
        made = [f"{name}/{number}" for name in topics for number in range(partitions)]
        self.partitions += made
        return made

    def end_offset(self, partition, isolation_level):
        """As the leader tells it; None if it does not."""
        topic, _, number = partition.rpartition("/")
        try:
            with Connection(self.leader(partition)) as connection:
                answer = connection.call("ListOffsets", 5, replica_id=-1, isolation_level=isolation_level, topics=[
                    {"name": topic, "partitions": [{"partition_index": int(number), "current_leader_epoch": -1, "timestamp": -1}]}])
        except (OSError, EOFError):
            return None
        found = answer.topics[0].partitions[0]
        return found.offset if found.error_code == 0 else None
