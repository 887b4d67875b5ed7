"""How long brokers take to stop: one with many partitions, and a whole cluster at once."""

import os
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from cluster_process import ClusterBroker, Etcd
from naru_process import NARU, PATIENCE_S, Broker, frame, wait_until
from raw_client import RawClient, batch, produce_request

BROKERS = 11
# Of real time on a machine that has other things to do; nothing but the disk and the processor takes any.
GENEROUS_S = 40
METADATA = 3


def time_to_stop(brokers):
    """Seconds until all are gone, told at the same moment; and their exit codes."""
    begun = time.monotonic()
    for broker in brokers:
        broker.process.send_signal(signal.SIGTERM)
    codes = [broker.process.wait(3 * PATIENCE_S) for broker in brokers]
    return time.monotonic() - begun, codes


class StopTest(unittest.TestCase):
    def test_a_broker_with_many_partitions(self):
        broker = Broker()
        self.addCleanup(broker.close)
        with RawClient(broker) as client:
            self.assertEqual(client.create_topic("many", 500), 0)
            for partition in range(0, 500, 7):
                self.assertEqual(client.produce("many", batch([b"x"]), partition)[0], 0)
        took, codes = time_to_stop([broker])
        self.assertEqual(codes, [0], broker.log)
        self.assertLess(took, GENEROUS_S, broker.log)

    def test_a_whole_cluster_at_once(self):
        etcd = Etcd()
        self.addCleanup(etcd.close)
        etcd.start()
        brokers = []
        for number in range(1, BROKERS + 1):
            brokers.append(ClusterBroker("--node-id", str(number), "--coordination", etcd.address("stop"),
                                         "--set", "default.replication.factor=3", "--set", "num.partitions=30",
                                         "--set", "naru.log.level=debug"))
            self.addCleanup(brokers[-1].close)
        # Made by asking, with three replicas of each partition.
        ask = frame(METADATA, 0, struct.pack(">ih", 1, 6) + b"orders")
        with RawClient(brokers[0]) as client:
            client.call(ask)
            acks_all = -1
            wait_until(lambda: client.call(ask).count(b"orders") == 1, "the topic is there", brokers[0])
            # Clients that go on until their broker is gone.
            for broker in brokers:
                sock = broker.connect()
                self.addCleanup(sock.close)
                for partition in range(30):
                    sock.sendall(produce_request("orders", batch([b"x"]), partition, acks_all))
        took, codes = time_to_stop(brokers)
        for broker in brokers:
            broker.reader.join(PATIENCE_S)
        logs = "\n".join(broker.log for broker in brokers)
        self.assertEqual(codes, [0] * BROKERS, logs)
        self.assertLess(took, GENEROUS_S, logs)
        # What takes its time has to say so.
        for broker in brokers:
            for phase in ["the hand-over", "the connections", "what is being done with partitions", "the logs", "the store"]:
                self.assertRegex(broker.log, rf"stop: {phase} took \d+ ms")
        # Nobody is left to take the office.
        self.assertNotIn("nobody has taken the office", logs)

    def test_a_stop_that_takes_too_long_ends_with_an_error(self):
        etcd = Etcd()
        self.addCleanup(etcd.close)
        etcd.start()
        broker = ClusterBroker("--coordination", etcd.address("late"), "--set", "naru.shutdown.timeout.ms=1000",
                               "--set", "naru.coordination.session.timeout.ms=60000")
        self.addCleanup(broker.close)
        etcd.process.send_signal(signal.SIGSTOP)
        self.assertEqual(broker.terminate(), 1)
        self.assertIn("not stopped within 1000 ms (naru.shutdown.timeout.ms)", broker.log)

    def test_a_broker_that_is_stuck_ends_when_the_time_to_stop_is_over(self):
        """Nobody reads its log, so every thread that writes a line waits for ever: the loop, and the last words too."""
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        with tempfile.TemporaryDirectory(prefix="naru-test-") as folder:
            process = subprocess.Popen([NARU, "server", "--data", folder + "/data", "--kafka", "127.0.0.1:0",
                                        "--set", "naru.admin.listener=", "--set", "naru.shutdown.timeout.ms=1000"],
                                       stderr=write_end)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            os.close(write_end)
            said = b""
            while b"SIGTERM" not in said:  # the last of the first lines
                said += os.read(read_end, 4096)
            # Of its own, so that only this end does not wait.
            full = os.open(f"/proc/{process.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, full)
            for size in [4096, 1]:
                try:
                    while True:
                        os.write(full, b"x" * size)
                except BlockingIOError:
                    pass
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE_S), 1)


if __name__ == "__main__":
    unittest.main()
