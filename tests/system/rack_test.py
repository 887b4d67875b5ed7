"""Consumers that name their rack read from an in-sync replica there (KIP-392), with librdkafka. On a real etcd."""

import re
import shutil
import subprocess
import unittest
import urllib.request

from cluster_process import ClusterBroker, Etcd, free_ports
from naru_process import NARU, PATIENCE_S, kcat, wait_until

RECORDS = b"".join(b"value %d\n" % i for i in range(200))


@unittest.skipUnless(shutil.which("etcd"), "needs etcd")
class RackTest(unittest.TestCase):
    def setUp(self):
        self.etcd = Etcd()
        self.addCleanup(self.etcd.close)
        self.etcd.start()
        self.brokers = []
        for node_id, rack in ((1, "a"), (2, "b"), (3, "c")):
            (admin,) = free_ports(1)
            broker = ClusterBroker("--node-id", str(node_id), "--coordination", self.etcd.address("naru"),
                                   "--set", f"broker.rack={rack}", admin=f"127.0.0.1:{admin}")
            self.addCleanup(broker.close)
            self.brokers.append(broker)
        self.create("t")

    def create(self, topic):
        subprocess.run([NARU, "topic", "create", topic, "--partitions", "1", "--replicas", "3", "--bootstrap",
                        self.brokers[0].address], check=True, capture_output=True, timeout=PATIENCE_S)
        kcat(self.brokers[0], "-P", "-t", topic, "-p", "0", "-X", "acks=all", stdin=RECORDS)

    def leader(self, topic):
        text = kcat(self.brokers[0], "-L", "-t", topic).decode()
        return int(re.search(r"partition 0, leader (\d+)", text).group(1))

    def metric(self, broker, name):
        with urllib.request.urlopen(f"http://{broker.admin}/metrics", timeout=PATIENCE_S) as page:
            for line in page.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.split()[1])
        raise AssertionError(f"no metric {name}")

    def sent_nearer(self, broker):
        return self.metric(broker, "naru_fetch_preferred_replica_total")

    def consume(self, rack):
        return kcat(self.brokers[0], "-C", "-t", "t", "-p", "0", "-o", "beginning", "-c", "200", "-X",
                    f"client.rack={rack}")

    def test_a_consumer_is_sent_to_the_replica_in_its_rack(self):
        leader = self.leader("t")
        at_leader = self.brokers[leader - 1]
        racks = {1: "a", 2: "b", 3: "c"}
        follower = next(node for node in racks if node != leader)
        self.assertEqual(self.consume(racks[leader]), RECORDS)
        self.assertEqual(self.consume("elsewhere"), RECORDS)
        self.assertEqual(self.sent_nearer(at_leader), 0)
        # The follower may be out of the in-sync set for a moment on a busy machine.
        wait_until(lambda: self.consume(racks[follower]) == RECORDS and self.sent_nearer(at_leader) > 0,
                   "a consumer that is sent to the follower", at_leader)
        self.assertEqual(self.sent_nearer(self.brokers[follower - 1]), 0)


if __name__ == "__main__":
    unittest.main()
