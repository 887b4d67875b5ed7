"""How long brokers take to stop: one with many partitions, and a whole cluster at once."""

import signal
import struct
import time
import unittest

from cluster_process import ClusterBroker, Etcd
from naru_process import PATIENCE_S, Broker, frame, wait_until
from raw_client import RawClient, batch, produce_request

BROKERS = 5
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
                                         "--set", "default.replication.factor=3", "--set", "num.partitions=30"))
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
        logs = "\n".join(broker.log for broker in brokers)
        self.assertEqual(codes, [0] * BROKERS, logs)
        self.assertLess(took, GENEROUS_S, logs)


if __name__ == "__main__":
    unittest.main()
