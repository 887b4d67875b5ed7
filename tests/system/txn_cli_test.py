"""`naru txn ...` and `naru group why` with transactions of python3-confluent-kafka that stay open."""

import json
import subprocess
import unittest

from confluent_kafka import Consumer, KafkaException, TopicPartition

from naru_command import NaruCommand
from naru_process import PATIENCE_S, Broker, wait_until
from transactions_test import producer, read

TRANSACTION_FIELDS = {"id", "state", "producer_id", "producer_epoch", "timeout_seconds", "start", "last_update",
                      "age_seconds", "stuck", "coordinator", "partitions"}


class TxnCliTest(NaruCommand, unittest.TestCase):
    def setUp(self):
        self.broker = Broker("--set", "transaction.state.log.num.partitions=4", "--set", "offsets.topic.num.partitions=4",
                             "--set", "group.initial.rebalance.delay.ms=0")
        self.addCleanup(self.broker.close)
        self.address = self.broker.address
        self.naru("topic", "create", "orders", "--partitions", "2")

    def open_transaction(self, transactional_id, client=None):
        """With a record in each partition of orders, which the broker has."""
        if client is None:  # an idle one has the length 0, so it counts as false
            client = producer(self.address, transactional_id, transaction_timeout_ms=300_000)
        client.begin_transaction()
        for partition in (0, 1):
            client.produce("orders", "open", partition=partition)
        self.assertEqual(client.flush(PATIENCE_S), 0)
        return client

    def test_consume_prints_what_is_committed(self):
        client = self.open_transaction("copier")
        printed = self.run_naru("consume", "orders", "--partition", "0")
        self.assertEqual((printed.returncode, printed.stdout), (0, ""))
        self.assertIn("orders-0: what is at offset 0 and behind it waits for the end of a transaction", printed.stderr)
        self.assertEqual(self.naru("consume", "orders", "--partition", "0", "--isolation-level", "read_uncommitted"), "open\n")
        client.abort_transaction(PATIENCE_S)
        client.begin_transaction()
        client.produce("orders", "committed", partition=0)
        client.commit_transaction(PATIENCE_S)
        printed = self.run_naru("consume", "orders", "--partition", "0")
        self.assertEqual((printed.returncode, printed.stdout, printed.stderr), (0, "committed\n", ""))
        self.assertEqual(self.naru("consume", "orders", "--partition", "0", "--isolation-level", "read_uncommitted"),
                         "open\ncommitted\n")

    def test_an_open_transaction_is_shown_and_aborted_and_its_producer_fenced(self):
        client = self.open_transaction("copier")
        (listed,) = self.json("txn", "list")
        self.assertEqual(set(listed), TRANSACTION_FIELDS)
        self.assertEqual((listed["id"], listed["state"], listed["partitions"], listed["timeout_seconds"], listed["stuck"]),
                         ("copier", "Ongoing", 2, 300, "no"))
        self.assertLess(listed["age_seconds"], PATIENCE_S)
        described = self.json("txn", "describe", "copier")
        self.assertEqual(set(described), TRANSACTION_FIELDS)
        self.assertEqual(described["partitions"], [{"topic": "orders", "partition": index} for index in (0, 1)])
        self.assertIn("\npartitions: orders 0,1\n", self.naru("txn", "describe", "copier"))
        self.assertEqual(self.json("txn", "list", "--state", "CompleteAbort"), [])
        self.assertIn("transactions have no state 'Onging'", self.refused("txn", "list", "--state", "Onging"))
        self.assertIn("no transaction is stuck: 1 is in progress", self.naru("txn", "list", "--stuck"))
        past_it = self.refused("txn", "abort", "--topic", "orders", "--partition", "0", "--producer-id",
                               str(listed["producer_id"]))
        self.assertIn("does not hang: it is that of transactional id copier, Ongoing at broker 1", past_it)
        self.assertEqual(self.json("txn", "describe", "copier")["state"], "Ongoing")

        self.assertIn("aborted the transaction of copier", self.naru("txn", "abort", "copier"))
        with self.assertRaises(KafkaException) as caught:
            client.commit_transaction(PATIENCE_S)
        self.assertTrue(caught.exception.args[0].fatal(), caught.exception)
        self.assertEqual(read(self.address, "orders", 2), {0: [], 1: []})
        self.assertIn("nothing is open", self.refused("txn", "abort", "copier"))
        self.assertIn("no transaction open in orders-0", self.refused(
            "txn", "abort", "--topic", "orders", "--partition", "0", "--producer-id", str(listed["producer_id"])))

        client = self.open_transaction("copier")
        client.commit_transaction(PATIENCE_S)
        self.assertEqual(read(self.address, "orders", 2, until=2), {0: ["open"], 1: ["open"]})

    def test_a_producer_with_nothing_open_is_fenced_if_asked(self):
        client = self.open_transaction("idle")
        client.commit_transaction(PATIENCE_S)
        fenced = self.json("txn", "abort", "idle", "--fence")
        self.assertEqual((fenced["aborted"], fenced["partitions"]), (False, []))
        client.begin_transaction()
        client.produce("orders", "late", partition=0)
        with self.assertRaises(KafkaException):
            client.commit_transaction(PATIENCE_S)
        self.assertEqual(read(self.address, "orders", 2, until=2), {0: ["open"], 1: ["open"]})

    def test_why_a_group_waits(self):
        client = self.open_transaction("copier")
        client.commit_transaction(PATIENCE_S)
        self.open_transaction("copier", client)
        reader = subprocess.Popen(["kcat", "-b", self.address, "-q", "-X", "auto.offset.reset=earliest",
                                   "-X", "isolation.level=read_committed", "-X", "auto.commit.interval.ms=100",
                                   "-G", "audit", "orders"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(reader.wait, PATIENCE_S)
        self.addCleanup(reader.kill)

        def why():
            done = self.run_naru("group", "why", "audit", "--watch", "500ms", "--json")
            return json.loads(done.stdout) if done.returncode == 0 else {"reason": done.stderr}

        wait_until(lambda: why()["reason"] == "open-transaction", "the group waits", self.broker)
        reason = why()
        self.assertRegex(reason["sentence"], r"group audit waits for an open transaction in orders-0: that of transactional id "
                                             r"copier \(producer \d+, epoch \d+\), Ongoing for .* with a timeout of 5 min")
        self.assertIn("`naru txn abort copier` ends it", reason["evidence"][0])
        self.assertIn("it waits so in 2 partitions", reason["evidence"])
        client.commit_transaction(PATIENCE_S)
        wait_until(lambda: why()["reason"] == "caught_up", "the group goes on", self.broker)

    def test_why_a_group_is_not_told_where_to_begin(self):
        client = self.open_transaction("copier")
        copied = Consumer({"bootstrap.servers": self.address, "group.id": "audit"})
        self.addCleanup(copied.close)
        client.send_offsets_to_transaction([TopicPartition("orders", 1, 0)], copied.consumer_group_metadata(), PATIENCE_S)
        reader = Consumer({"bootstrap.servers": self.address, "group.id": "audit", "auto.offset.reset": "earliest"})
        self.addCleanup(reader.close)
        reader.subscribe(["orders"])

        def why():
            reader.poll(0)
            done = self.run_naru("group", "why", "audit", "--watch", "500ms", "--json")
            return json.loads(done.stdout) if done.returncode == 0 else {"reason": done.stderr}

        wait_until(lambda: why()["reason"] == "open-transaction", "the group waits", self.broker)
        self.assertRegex(why()["sentence"], r"group audit waits for an open transaction that commits its offset of orders-1: that of "
                                            r"transactional id copier \(producer \d+, epoch \d+\), Ongoing for .*")
        client.abort_transaction(PATIENCE_S)
        wait_until(lambda: why()["reason"] != "open-transaction", "the group goes on", self.broker)


if __name__ == "__main__":
    unittest.main()
