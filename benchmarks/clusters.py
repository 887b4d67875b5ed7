"""A cluster on this machine: three brokers on loopback and ZooKeeper; and what happens to writes when one of them is killed."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from servers import ROOT

sys.path.insert(0, str(ROOT / "tests" / "chaos"))
import kafka_messages  # noqa: E402
import raw_client  # noqa: E402
from machines import Loopback  # noqa: E402
from services import NARU, Broker, ZooKeeper, free_port  # noqa: E402

SESSION_MS = 3000
PATIENCE_S = 300
PRODUCE_VERSION = 7
MOST_PROBED = 8
METADATA_VERSION = 12


class NaruCluster:
    def __init__(self, brokers=3):
        self.home = tempfile.mkdtemp(prefix="naru-bench-cluster-")
        self.store = ZooKeeper(Loopback(), self.home, free_port())
        settings = ["naru.admin.listener=", f"naru.coordination.session.timeout.ms={SESSION_MS}",
                    "auto.leader.rebalance.enable=false"]
        self.brokers = [Broker(number, Loopback(), self.home, self.store, free_port(), settings=settings)
                        for number in range(1, brokers + 1)]
        self.store.start()
        for broker in self.brokers:
            broker.start()
        self.wait_until_whole()

    def status(self):
        """None if nobody answers."""
        addresses = ",".join(broker.address for broker in self.brokers)
        done = subprocess.run([NARU, "cluster", "status", "--json", "--bootstrap", addresses], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def wait_until_whole(self):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            status = self.status()
            if status and not status["repairs"]:
                answering = [broker for broker in status["brokers"] if broker["log_bytes"] is not None]
                if len(answering) == len(self.brokers):
                    return
            time.sleep(0.1)
        raise RuntimeError(f"the cluster is not whole after {PATIENCE_S} s; logs: {self.home}")

    def broker(self, number):
        return next(broker for broker in self.brokers if broker.number == number)

    def create(self, topic, partitions=1, **settings):
        controller = self.broker(self.status()["controller"])
        configs = [{"name": name.replace("_", "."), "value": str(value)} for name, value in settings.items()]
        with kafka_messages.Connection(controller) as connection:
            connection.sock.settimeout(PATIENCE_S)
            answer = connection.call("CreateTopics", 5, timeout_ms=60_000, topics=[
                {"name": topic, "num_partitions": partitions, "replication_factor": len(self.brokers), "configs": configs}])
        if answer.topics[0].error_code != 0:
            raise RuntimeError(f"{topic} was not created: {answer.topics[0].error_message}")
        self.wait_until_whole()

    def leaders(self, topic):
        """Of each partition, as the first broker that runs knows it."""
        running = next(broker for broker in self.brokers if broker.running)
        with kafka_messages.Connection(running) as connection:
            connection.sock.settimeout(PATIENCE_S)
            answer = connection.call("Metadata", METADATA_VERSION, topics=[{"name": topic}])
        return {partition.partition_index: partition.leader_id for partition in answer.topics[0].partitions}

    def resident_bytes(self, broker):
        with open(f"/proc/{broker.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024

    def seconds_to_ready(self, broker):
        """Starts it; until it says that it is ready."""
        with open(broker.log, "rb") as log:
            log.seek(0, os.SEEK_END)
            begin, told = time.monotonic(), b""
            broker.start()
            while b" ready: " not in told:
                told += log.read()
                if not broker.running or time.monotonic() > begin + PATIENCE_S:
                    raise RuntimeError(f"{broker.name} does not start: {broker.last_words()}")
                time.sleep(0.005)
            return time.monotonic() - begin

    def close(self):
        for process in [*self.brokers, self.store]:
            process.close()
        shutil.rmtree(self.home, ignore_errors=True)


class LogWatch:
    """When a text comes up in a log, from now on. Looks in a thread of its own: the others wait for answers."""

    def __init__(self, path, text):
        self.file, self.text, self.seen_at = open(path, "rb"), text.encode(), None
        self.file.seek(0, os.SEEK_END)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        tail = b""
        while self.seen_at is None and not self.stop.wait(0.002):
            tail = tail[-len(self.text):] + self.file.read()
            if self.text in tail:
                self.seen_at = time.monotonic()

    def close(self):
        self.stop.set()
        self.thread.join()
        self.file.close()


class Failover:
    """One kill -9. Seconds: `detected` (the session has expired) and `controller` (there is a new one; None if the controller lives) since
    the kill; `first` and `last`, until a write to the first and to all of some partitions of that leader was acknowledged."""

    def __init__(self, cluster, victim, topic):
        leaders = cluster.leaders(topic)
        led = [index for index, leader in leaders.items() if leader == victim.number]
        self.partitions = led[::max(len(led) // MOST_PROBED, 1)][:MOST_PROBED]
        if not self.partitions:
            raise RuntimeError(f"{victim.name} leads nothing")
        self.topic, self.accepted = topic, {}
        self.others = [broker for broker in cluster.brokers if broker is not victim]
        was_controller = cluster.status()["controller"] == victim.number
        with contextlib.ExitStack() as stack:
            expiry = stack.enter_context(contextlib.closing(LogWatch(cluster.store.log, "Expiring session")))
            claims = [stack.enter_context(contextlib.closing(LogWatch(broker.log, " is the controller, epoch"))) for broker in self.others]
            connections = [stack.enter_context(kafka_messages.Connection(broker)) for broker in self.others]
            for connection in connections:
                connection.sock.settimeout(PATIENCE_S)
            victim.kill()
            killed = time.monotonic()
            while len(self.accepted) < len(self.partitions):
                if time.monotonic() > killed + PATIENCE_S:
                    raise RuntimeError(f"no writes after the kill of {victim.name}; logs: {cluster.home}")
                for connection in connections:
                    self.try_to_write(connection)
                time.sleep(0.002)
            expiry.thread.join(PATIENCE_S)
        self.detected = expiry.seen_at - killed
        claimed = [watch.seen_at - killed for watch in claims if watch.seen_at]
        self.controller = min(claimed) if was_controller and claimed else None
        self.first = min(self.accepted.values()) - killed
        self.last = max(self.accepted.values()) - killed

    def try_to_write(self, connection):
        missing = [index for index in self.partitions if index not in self.accepted]
        if not missing:
            return
        records = raw_client.batch([b"x"])
        answer = connection.call("Produce", PRODUCE_VERSION, acks=-1, timeout_ms=5000, topic_data=[
            {"name": self.topic, "partition_data": [{"index": index, "records": records} for index in missing]}])
        for partition in answer.responses[0].partition_responses:
            if partition.error_code == 0:
                self.accepted[partition.index] = time.monotonic()


def kill_one_after_the_other(cluster, topic, count):
    """Failovers of leaders of the topic; between them the cluster is whole, with balanced leaders again."""
    for number in range(count):
        victim = cluster.brokers[number % len(cluster.brokers)]
        yield Failover(cluster, victim, topic)
        victim.start()
        cluster.wait_until_whole()
        elect_preferred(cluster)


def elect_preferred(cluster):
    controller = cluster.broker(cluster.status()["controller"])
    with kafka_messages.Connection(controller) as connection:
        connection.sock.settimeout(PATIENCE_S)
        connection.call("ElectLeaders", 1, election_type=0, topic_partitions=None, timeout_ms=60_000)
