"""What cannot work is refused with what to do, and data is never deleted because metadata is missing. On a real etcd."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

from cluster_process import ClusterBroker, Etcd, free_ports
from naru_process import NARU, PATIENCE_S, kcat, wait_until


@unittest.skipUnless(shutil.which("etcd"), "needs etcd")
class ClusterBadInputTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="naru-test-")
        self.addCleanup(self.folder.cleanup)
        self.etcd = Etcd()
        self.addCleanup(self.etcd.close)

    def broker(self, root, node_id, **keywords):
        broker = ClusterBroker("--node-id", str(node_id), "--coordination", self.etcd.address(root), **keywords)
        self.addCleanup(broker.close)
        return broker

    def refused(self, *arguments):
        (port,) = free_ports(1)
        done = subprocess.run([NARU, "server", "--kafka", f"127.0.0.1:{port}", "--set", "naru.admin.listener=",
                               *arguments], capture_output=True, text=True, timeout=2 * PATIENCE_S)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_a_service_that_cannot_be_reached_is_named_with_what_to_do(self):
        message = self.refused("--data", self.folder.name + "/new", "--coordination", self.etcd.address("naru"),
                               "--set", "naru.coordination.start.timeout.ms=0")
        self.assertIn(self.etcd.address("naru"), message)
        self.assertIn("Start the service, or correct naru.coordination (--coordination)", message)

    def test_a_broker_waits_for_a_service_that_starts_later(self):
        waiting = threading.Event()
        (port,) = free_ports(1)
        command = [NARU, "server", "--data", self.folder.name + "/new", "--kafka", f"127.0.0.1:{port}",
                   "--coordination", self.etcd.address("naru"), "--set", "naru.admin.listener="]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "still waits for the coordination service" in line and not waiting.is_set():
                waiting.set()
                self.etcd.start()
            if " ready: " in line:
                break
        self.assertTrue(waiting.is_set())
        self.assertIsNone(process.poll())

    def test_two_brokers_with_one_number(self):
        self.etcd.start()
        first = self.broker("naru", 1)
        message = self.refused("--data", self.folder.name + "/second", "--node-id", "1", "--coordination",
                               self.etcd.address("naru"))
        self.assertIn("choose another node.id", message)
        kcat(first, "-P", "-t", "still-here", stdin=b"value\n")

    def test_a_data_folder_of_another_cluster(self):
        self.etcd.start()
        first = self.broker("one", 1)
        self.assertEqual(first.terminate(), 0)
        other = self.broker("two", 2)
        message = self.refused("--data", first.data, "--node-id", "1", "--coordination", self.etcd.address("two"))
        self.assertIn("cluster", message)
        self.assertIsNone(other.process.poll())

    def test_a_data_folder_of_another_broker(self):
        self.etcd.start()
        first = self.broker("naru", 1)
        self.assertEqual(first.terminate(), 0)
        message = self.refused("--data", first.data, "--node-id", "2", "--coordination", self.etcd.address("naru"))
        self.assertIn("belongs to node.id 1, but this broker was started as node.id 2", message)

    def test_more_replicas_than_brokers(self):
        self.etcd.start()
        broker = self.broker("naru", 1)
        done = subprocess.run([NARU, "topic", "create", "wide", "--replicas", "3", "--bootstrap", broker.address],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("replication factor 3 needs as many brokers, and 1 are there", done.stderr)

    def test_data_of_topics_that_the_metadata_does_not_know_is_kept(self):
        self.etcd.start()
        broker = self.broker("naru", 1)
        kcat(broker, "-P", "-t", "precious", "-p", "0", stdin=b"value\n")
        self.assertEqual(broker.terminate(), 0)
        folders = [name for name in os.listdir(broker.data) if name.startswith("precious-")]
        self.assertTrue(folders)
        self.assertGreater(self.etcd.delete(b"/naru/keys/topics/"), 0)
        self.assertGreater(self.etcd.delete(b"/naru/keys/partition_states/"), 0)
        broker.start()
        wait_until(lambda: "precious-0 belongs to no known topic and is left alone" in broker.log, "a line that says so",
                   broker)
        # A new topic of that name is another one, and does not take the folders.
        done = subprocess.run([NARU, "topic", "create", "precious", "--bootstrap", broker.address],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("precious-", done.stderr)
        kcat(broker, "-P", "-t", "others", stdin=b"work\n")
        self.assertEqual(broker.terminate(), 0)
        logs = pathlib.Path(broker.data).glob("precious-0/*.log")
        self.assertTrue(any(b"value" in log.read_bytes() for log in logs), "the records are still on the disk")


if __name__ == "__main__":
    unittest.main()
