"""What people see of a cluster of three brokers while one of them is away, and afterwards."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "chaos"))

from cluster import view_of, wait_until  # noqa: E402
from kafka_messages import Connection  # noqa: E402
from machines import Loopback  # noqa: E402
from naru_process import NARU, PATIENCE_S  # noqa: E402
from raw_client import batch  # noqa: E402
from services import Broker, Etcd, free_port  # noqa: E402

SETTINGS = ["naru.admin.listener=", "naru.journal.bytes=8388608", "naru.coordination.session.timeout.ms=3000"]

BROKERS, LOGGERS = 4, 8
UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, INVALID_REQUEST, UNKNOWN_TOPIC_ID, NOT_REGISTERED = 3, 6, 42, 100, 102


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="naru-cluster-test-")
        cls.addClassCleanup(folder.cleanup)
        machine = Loopback()
        store = Etcd(machine, folder.name, free_port(), free_port())
        cls.addClassCleanup(store.close)
        store.start()
        cls.brokers = [Broker(number, machine, folder.name, store, free_port(), settings=SETTINGS) for number in (1, 2, 3)]
        for broker in cls.brokers:
            cls.addClassCleanup(broker.close)
            broker.start()
        cls.wait(lambda: next((f"{broker.name} does not know all" for broker in cls.brokers
                               if not (view := view_of(broker)) or len(view.brokers) < 3), None))

    @classmethod
    def wait(cls, why_not):
        if reason := wait_until(why_not, 2 * PATIENCE_S):
            raise AssertionError(reason + "".join(f"\n{broker.name}:\n{broker.last_words()}" for broker in cls.brokers))

    def naru(self, *words):
        addresses = ",".join(broker.address for broker in self.brokers)
        done = subprocess.run([NARU, *words], capture_output=True, text=True, timeout=2 * PATIENCE_S, stdin=subprocess.DEVNULL,
                              env={**os.environ, "NARU_BOOTSTRAP": addresses, "NO_COLOR": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def create(self, topic, *options):
        self.naru("topic", "create", topic, *options)
        self.addCleanup(self.naru, "topic", "delete", topic)

    def status(self):
        return json.loads(self.naru("cluster", "status", "--json"))

    def why_not_noticed(self, partitions):
        """All others have to know that they lead, or that nobody does."""
        for broker in self.brokers[:2]:
            view = view_of(broker)
            if not view or 3 in view.brokers:
                return f"{broker.name} believes that broker 3 is here"
            for name in partitions:
                if view.partitions[name].leader == 3 or len(view.partitions[name].replicas) == 3 and 3 in view.partitions[name].isr:
                    return f"{name} is {view.partitions[name]} for {broker.name}"
        return None

    def test_a_broker_is_away_and_comes_back(self):
        self.create("safe", "--partitions", "3", "--replicas", "3")
        self.create("alone", "--partitions", "3", "--replicas", "1")
        self.assertIn("3 brokers, 2 topics, 6 partitions; all partitions are in order", self.naru("cluster", "status"))
        self.assertEqual(self.status()["repairs"], [])

        self.brokers[2].kill()
        self.wait(lambda: self.why_not_noticed([f"{topic}/{number}" for topic in ("safe", "alone") for number in range(3)]))

        status = self.status()
        self.assertEqual([broker["id"] for broker in status["brokers"]], [1, 2])
        self.assertIn(status["controller"], [1, 2])
        self.assertEqual((status["absent_brokers"], status["offline_partitions"], status["under_replicated_partitions"]), ([3], 1, 3))
        lost, *thin = status["repairs"]
        self.assertEqual((lost["topic"], lost["leader"], lost["in_sync"]), ("alone", -1, [3]))
        self.assertEqual(lost["repair"], "no leader until broker 3 is back")
        self.assertEqual([(repair["topic"], repair["partition"], sorted(repair["in_sync"])) for repair in thin],
                         [("safe", number, [1, 2]) for number in range(3)])
        self.assertEqual({repair["repair"] for repair in thin}, {"broker 3 is not here"})
        text = self.naru("cluster", "status")
        self.assertIn("2 brokers, 2 topics, 6 partitions; 1 partition without a leader, 3 under-replicated", text)
        self.assertRegex(text, r"(?m)^ +3 +- +- +not here +0 +4 ")
        self.assertRegex(text, r"(?m)^alone +\d +none +3 +3 +no leader until broker 3 is back$")
        self.assertRegex(text, r"(?m)^safe +0 +[12] +[123,]{5} +(1,2|2,1) +broker 3 is not here$")
        described = self.naru("topic", "describe", "safe")
        self.assertIn("3 under-replicated", described)
        self.assertRegex(described, r"(?m)^ +0 +[12] +[123,]{5} +(1,2|2,1) +0 +0$")
        self.assertRegex(self.naru("topic", "describe", "alone"), r"(?m)^ +\d +none +3 +3 +- +-$")

        self.brokers[2].start()
        self.wait(lambda: None if not self.status()["repairs"] and not self.status()["absent_brokers"] else self.naru("cluster", "status"))
        self.assertIn("3 brokers, 2 topics, 6 partitions; all partitions are in order", self.naru("cluster", "status"))

    def unregister(self, through, broker_id):
        with Connection(through) as connection:
            answer = connection.call("UnregisterBroker", 0, broker_id=broker_id)
        return answer.error_code, answer.error_message

    def test_any_broker_unregisters_one_that_is_gone(self):
        self.create("kept", "--partitions", "3", "--replicas", "3")
        self.naru("topic", "create", "alone", "--partitions", "3", "--replicas", "1")
        for through in self.brokers:
            error, message = self.unregister(through, 3)
            self.assertEqual((error, "broker 3 is running" in message), (INVALID_REQUEST, True))
        self.brokers[2].kill()
        self.wait(lambda: self.why_not_noticed([f"{topic}/{number}" for topic in ("kept", "alone") for number in range(3)]))
        for through in self.brokers[:2]:
            error, message = self.unregister(through, 3)
            self.assertEqual((error, "last in-sync replicas of 1 partitions (alone-" in message), (INVALID_REQUEST, True), message)
        self.naru("topic", "delete", "alone")
        self.assertEqual(self.unregister(self.brokers[0], 3)[0], 0)
        for through in self.brokers[:2]:
            self.assertEqual(self.unregister(through, 3)[0], NOT_REGISTERED)
        self.brokers[2].start()
        self.wait(lambda: None if not self.status()["repairs"] and not self.status()["absent_brokers"] else self.naru("cluster", "status"))

    def test_every_broker_shows_the_same_controller_as_the_quorum(self):
        topics = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
        seen = set()
        for broker in self.brokers:
            with Connection(broker) as connection:
                answer = connection.call("DescribeQuorum", 2, topics=topics)
            partition = answer.topics[0].partitions[0]
            seen.add((partition.leader_id, partition.leader_epoch, tuple(voter.replica_id for voter in partition.current_voters),
                      tuple(node.node_id for node in answer.nodes)))
        (quorum,) = seen
        controller = self.status()["controller"]
        self.assertEqual((quorum[0], quorum[2], quorum[3]), (controller, (controller,), (controller,)))

    def leader_of(self, partition):
        """As soon as all brokers agree on it."""
        leaders = set()

        def why_not():
            leaders.clear()
            for broker in self.brokers:
                view = view_of(broker)
                leaders.add(view.partitions[partition].leader if view and partition in view.partitions else -1)
            return None if len(leaders) == 1 and -1 not in leaders else f"the leaders of {partition} are {leaders}"
        self.wait(why_not)
        return leaders.pop()

    def call(self, broker, api, version, **values):
        with Connection(broker) as connection:
            return connection.call(api, version, **values)

    def test_each_broker_has_loggers_of_its_own(self):
        """Requests about loggers are not passed on to the controller, all other changes of configuration are."""
        alter = lambda broker, kind, name, key, value: self.call(broker, "IncrementalAlterConfigs", 1, resources=[
            {"resource_type": kind, "resource_name": name,
             "configs": [{"name": key, "config_operation": 0, "value": value}]}]).responses[0].error_code
        describe = lambda broker, kind, name, key: self.call(broker, "DescribeConfigs", 4, resources=[
            {"resource_type": kind, "resource_name": name, "configuration_keys": [key]}]).results[0].configs[0].value
        levels = lambda: [describe(broker, LOGGERS, str(broker.number), "groups") for broker in self.brokers]
        self.assertEqual(levels(), ["INFO"] * 3)
        for broker in self.brokers:
            number = str(broker.number)
            self.assertEqual(alter(broker, LOGGERS, number, "groups", "WARN"), 0)
            self.assertEqual(levels().count("WARN"), broker.number)
            self.assertEqual(alter(broker, BROKERS, number, "log.cleaner.threads", "2"), 0)
            self.assertEqual(describe(broker, BROKERS, number, "default.replication.factor"), "3")
            self.assertEqual(describe(broker, BROKERS, number, "min.insync.replicas"), "2")

    def test_whoever_asks_the_wrong_broker_is_told_the_right_one(self):
        self.create("alone", "--replicas", "1")
        self.create("safe", "--replicas", "3")
        # A follower is asked as well; consumers may read there.
        for name, apis in (("alone", ["Produce", "Fetch"]), ("safe", ["Produce"])):
            leader = self.leader_of(f"{name}/0")
            with Connection(next(broker for broker in self.brokers if broker.number != leader)) as connection:
                topic_id = connection.call("Metadata", 12, topics=[{"name": name}]).topics[0].topic_id
                for api, version, topic in (("Produce", 12, {"name": name}), ("Produce", 13, {"topic_id": topic_id}),
                                            ("Fetch", 12, {"topic": name}), ("Fetch", 17, {"topic_id": topic_id})):
                    if api not in apis:
                        continue
                    with self.subTest(api=api, version=version):
                        answer, elsewhere, nowhere = self.ask(connection, api, version, topic)
                        self.assertEqual((elsewhere.error_code, nowhere.error_code), (NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION))
                        self.assertEqual(elsewhere.current_leader.leader_id, leader)
                        self.assertFalse(hasattr(nowhere, "current_leader"))
                        if version > 12 or api == "Produce":
                            nodes = [(node.node_id, node.port) for node in answer.node_endpoints]
                            self.assertEqual(nodes, [(leader, self.brokers[leader - 1].port)])
                for api, version in (("Produce", 13), ("Fetch", 17)):
                    _, *partitions = self.ask(connection, api, version, {"topic_id": bytes(range(16))})
                    self.assertEqual([partition.error_code for partition in partitions], 2 * [UNKNOWN_TOPIC_ID])

    def ask(self, connection, api, version, topic):
        """About partition 0, and about one that there is not. The answer and what it says of them."""
        if api == "Produce":
            partitions = [{"index": index, "records": batch([b"x"])} for index in (0, 7)]
            answer = connection.call(api, version, acks=1, timeout_ms=1000, topic_data=[{**topic, "partition_data": partitions}])
            return answer, *answer.responses[0].partition_responses
        partitions = [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1000} for index in (0, 7)]
        answer = connection.call(api, version, max_bytes=1000, topics=[{**topic, "partitions": partitions}])
        return answer, *answer.responses[0].partitions


if __name__ == "__main__":
    unittest.main()
