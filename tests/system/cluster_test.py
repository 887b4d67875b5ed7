"""What people see of a cluster of three brokers while one of them is away, and afterwards."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "chaos"))

from cluster import view_of, wait_until  # noqa: E402
from machines import Loopback  # noqa: E402
from naru_process import NARU, PATIENCE_S  # noqa: E402
from services import Broker, Etcd, free_port  # noqa: E402

SETTINGS = ["naru.admin.listener=", "naru.journal.bytes=8388608", "naru.coordination.session.timeout.ms=3000"]


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
        self.naru("topic", "create", "safe", "--partitions", "3", "--replicas", "3")
        self.naru("topic", "create", "alone", "--partitions", "3", "--replicas", "1")
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


if __name__ == "__main__":
    unittest.main()
