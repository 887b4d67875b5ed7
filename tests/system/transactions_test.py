"""Transactions with python3-confluent-kafka, which speaks version 1 of the protocol, and with requests that no client would send."""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "chaos"))

from confluent_test import create_topic  # noqa: E402
from cluster import view_of  # noqa: E402
from kafka_messages import Connection  # noqa: E402
from machines import Loopback  # noqa: E402
from naru_process import PATIENCE_S, Broker, wait_until  # noqa: E402
import services  # noqa: E402

COPIER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transaction_copier.py")
BACKOFF = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}


def producer(address, transactional_id, **config):
    client = Producer({"bootstrap.servers": address, "transactional.id": transactional_id, **BACKOFF,
                       **{key.replace("_", "."): value for key, value in config.items()}})
    client.init_transactions(PATIENCE_S)
    return client


def with_open_transaction(address, transactional_id, value, **config):
    """A producer that has written this to partition 0 of t, and not ended its transaction."""
    client = producer(address, transactional_id, **config)
    client.begin_transaction()
    client.produce("t", value, partition=0)
    assert client.flush(PATIENCE_S) == 0, "the record is not taken"
    return client


def read(address, topic, partitions=1, isolation="read_committed", until=None, patience_s=PATIENCE_S):
    """The values by partition, to the end that this reader is told, or until a number of them is there."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": f"reader-{random.random()}", "isolation.level": isolation,
                         "enable.partition.eof": True, "auto.offset.reset": "earliest", **BACKOFF})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    values = {partition: [] for partition in range(partitions)}
    ended = set()
    deadline = time.monotonic() + patience_s
    with contextlib.closing(consumer):
        while len(ended) < partitions or until is not None and sum(map(len, values.values())) < until:
            if time.monotonic() > deadline:
                raise AssertionError(f"{sum(map(len, values.values()))} records of {topic} were read within {patience_s} s")
            message = consumer.poll(0.2)
            if message is None:
                continue
            if not message.error():
                ended.discard(message.partition())
                values[message.partition()].append(message.value().decode())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
    return values


class OneBrokerTest(unittest.TestCase):
    def setUp(self):
        self.broker = Broker("--set", "transaction.state.log.num.partitions=4", "--set", "offsets.topic.num.partitions=4",
                             "--set", "group.initial.rebalance.delay.ms=0")
        self.addCleanup(self.broker.close)
        self.address = self.broker.address

    def test_what_is_committed_is_seen_and_what_is_aborted_is_not(self):
        create_topic(self.broker, "t", partitions=2)
        client = producer(self.address, "one")
        for number in range(10):
            client.begin_transaction()
            for partition in (0, 1):
                client.produce("t", f"{number}", partition=partition)
            if number % 3 == 2:
                self.assertEqual(client.flush(PATIENCE_S), 0)  # or nothing would be sent
                client.abort_transaction(PATIENCE_S)
            else:
                client.commit_transaction(PATIENCE_S)
        kept = [str(number) for number in range(10) if number % 3 != 2]
        self.assertEqual(read(self.address, "t", 2, until=len(kept) * 2), {0: kept, 1: kept})
        everything = [str(number) for number in range(10)]
        self.assertEqual(read(self.address, "t", 2, isolation="read_uncommitted"), {0: everything, 1: everything})

    def test_an_open_transaction_holds_readers_back_and_survives_kill_9(self):
        create_topic(self.broker, "t")
        open_one = producer(self.address, "open")
        open_one.begin_transaction()
        open_one.produce("t", "early", partition=0)
        self.assertEqual(open_one.flush(PATIENCE_S), 0)
        other = producer(self.address, "other")
        other.begin_transaction()
        other.produce("t", "late", partition=0)
        other.commit_transaction(PATIENCE_S)
        self.assertEqual(read(self.address, "t"), {0: []})
        self.assertEqual(read(self.address, "t", isolation="read_uncommitted"), {0: ["early", "late"]})
        self.broker.kill()
        self.broker.start()
        self.assertEqual(read(self.address, "t"), {0: []})
        open_one.commit_transaction(PATIENCE_S)
        self.assertEqual(read(self.address, "t", until=2), {0: ["early", "late"]})

    def test_a_second_producer_of_the_same_id_fences_the_first(self):
        create_topic(self.broker, "t")
        first = producer(self.address, "same")
        first.begin_transaction()
        first.produce("t", "lost", partition=0)
        self.assertEqual(first.flush(PATIENCE_S), 0)
        second = producer(self.address, "same")
        second.begin_transaction()
        second.produce("t", "kept", partition=0)
        second.commit_transaction(PATIENCE_S)
        with self.assertRaises(KafkaException) as refused:
            first.commit_transaction(PATIENCE_S)
        self.assertTrue(refused.exception.args[0].fatal(), refused.exception)
        self.assertEqual(read(self.address, "t", until=1), {0: ["kept"]})

    def test_a_producer_that_is_silent_for_longer_than_its_timeout_holds_nobody_back(self):
        create_topic(self.broker, "t")
        silent = with_open_transaction(self.address, "silent", "lost", transaction_timeout_ms=1000)
        other = producer(self.address, "other")
        other.begin_transaction()
        other.produce("t", "kept", partition=0)
        other.commit_transaction(PATIENCE_S)
        begun = time.monotonic()
        self.assertEqual(read(self.address, "t", until=1), {0: ["kept"]})
        self.assertLess(time.monotonic() - begun, 11)
        # It has to abort, and can go on after that.
        with self.assertRaises(KafkaException) as refused:
            silent.commit_transaction(PATIENCE_S)
        self.assertFalse(refused.exception.args[0].fatal(), refused.exception)
        self.assertTrue(refused.exception.args[0].txn_requires_abort(), refused.exception)
        silent.abort_transaction(PATIENCE_S)
        silent.begin_transaction()
        silent.produce("t", "again", partition=0)
        silent.commit_transaction(PATIENCE_S)
        self.assertEqual(read(self.address, "t", until=2), {0: ["kept", "again"]})

    def test_a_silent_producer_that_goes_on_with_offsets_is_fenced_rather_than_refused_for_ever(self):
        """librdkafka does not ask who it is when its offsets are refused."""
        create_topic(self.broker, "t")
        silent = with_open_transaction(self.address, "silent", "lost", transaction_timeout_ms=1000)
        with Connection(self.broker) as connection:
            wait_until(lambda: connection.call("DescribeTransactions", 0, transactional_ids=["silent"]).transaction_states[0]
                       .transaction_state == "CompleteAbort", "the transaction is aborted", self.broker)
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "g", **BACKOFF})
        self.addCleanup(consumer.close)
        with self.assertRaises(KafkaException) as refused:
            silent.send_offsets_to_transaction([TopicPartition("t", 0, 1)], consumer.consumer_group_metadata(), PATIENCE_S)
        self.assertTrue(refused.exception.args[0].fatal(), refused.exception)
        self.assertEqual(read(self.address, "t"), {0: []})

    def test_ids_that_nobody_uses_are_forgotten(self):
        keys = {"transactional.id.expiration.ms": 6000, "transaction.remove.expired.transaction.cleanup.interval.ms": 200}
        broker = Broker(*(word for key, value in keys.items() for word in ("--set", f"{key}={value}")))
        self.addCleanup(broker.close)
        create_topic(broker, "t")

        def known():
            with Connection(broker) as connection:
                return {each.transactional_id for each in connection.call("ListTransactions", 1, duration_filter=-1).transaction_states}

        still_open, done = (with_open_transaction(broker.address, name, "x") for name in ("open", "done"))
        done.commit_transaction(PATIENCE_S)
        self.assertEqual(known(), {"done", "open"})
        wait_until(lambda: known() == {"open"}, "the id is forgotten", broker)
        still_open.commit_transaction(PATIENCE_S)
        wait_until(lambda: known() == set(), "the other one, too", broker)

    def test_offsets_in_a_transaction_are_seen_when_it_is_committed(self):
        create_topic(self.broker, "t", partitions=2)
        client = producer(self.address, "offsets")
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "g", **BACKOFF})
        self.addCleanup(consumer.close)

        def commit(offset, end):
            client.begin_transaction()
            client.send_offsets_to_transaction([TopicPartition("t", 0, offset)], consumer.consumer_group_metadata(), PATIENCE_S)
            end(PATIENCE_S)

        def committed():
            return consumer.committed([TopicPartition("t", 0)], timeout=PATIENCE_S)[0].offset

        commit(5, client.commit_transaction)
        self.assertEqual(committed(), 5)
        commit(9, client.abort_transaction)
        self.assertEqual(committed(), 5)
        commit(7, client.commit_transaction)
        self.broker.kill()
        self.broker.start()
        self.assertEqual(committed(), 7)

    # --- Requests that no client would send --------------------------------------------------------------------------

    def init(self, connection, transactional_id, version=4, **fields):
        return connection.call("InitProducerId", version, transactional_id=transactional_id, transaction_timeout_ms=60000, **fields)

    def begin(self, connection, transactional_id):
        """The producer of an open transaction with partition 0 of topic t."""
        connection.call("FindCoordinator", 2, key=transactional_id, key_type=1)
        deadline = time.monotonic() + PATIENCE_S
        while (made := self.init(connection, transactional_id)).error_code in (14, 15, 16):  # being made or loaded
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(made.error_code, 0)
        self.assertEqual(self.add(connection, transactional_id, made), [0])
        return made

    def add(self, connection, transactional_id, who, version=3, topic="t", **changes):
        fields = {"producer_id": who.producer_id, "producer_epoch": who.producer_epoch, **changes}
        answer = connection.call("AddPartitionsToTxn", version, transactional_id=transactional_id, **fields,
                                 topics=[{"name": topic, "partitions": [0]}])
        return [each.partition_error_code for each in answer.results_by_topic[0].results_by_partition]

    def end(self, connection, transactional_id, who, committed, version=3, **changes):
        fields = {"producer_id": who.producer_id, "producer_epoch": who.producer_epoch, **changes}
        return connection.call("EndTxn", version, transactional_id=transactional_id, committed=committed, **fields).error_code

    def test_an_abort_does_not_overtake_what_was_added_before_it(self):
        """As librdkafka does it: what is added has to wait for the transaction before, and the abort comes behind it at once."""
        create_topic(self.broker, "t")
        with Connection(self.broker) as connection:
            who = self.begin(connection, "x")
            fields = {"transactional_id": "x", "producer_id": who.producer_id, "producer_epoch": who.producer_epoch}
            added = {**fields, "topics": [{"name": "t", "partitions": [0]}]}
            for number in range(50):
                connection.send("EndTxn", 3, committed=True, **fields)
                connection.send("AddPartitionsToTxn", 3, **added)
                connection.send("EndTxn", 3, committed=False, **fields)
                connection.send("AddPartitionsToTxn", 3, **added)
                answers = [connection.receive() for _ in range(4)]
                self.assertEqual((answers[0].error_code, answers[2].error_code), (0, 0), f"round {number}")

    def test_offsets_of_a_transaction_that_took_too_long_are_refused_and_its_producer_goes_on(self):
        create_topic(self.broker, "t")
        with Connection(self.broker) as connection:
            connection.call("FindCoordinator", 2, key="g", key_type=0)
            self.end(connection, "slow", self.begin(connection, "slow"), committed=True)
            who = connection.call("InitProducerId", 4, transactional_id="slow", transaction_timeout_ms=500)

            def commit(version=5, **changes):
                fields = {"group_id": "g", "producer_id": who.producer_id, "producer_epoch": who.producer_epoch, **changes}
                answer = connection.call("TxnOffsetCommit", version, transactional_id="slow", generation_id=-1, member_id="", **fields,
                                         topics=[{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}])
                return answer.topics[0].partitions[0].error_code

            wait_until(lambda: commit() == 0, "offsets are taken", self.broker)
            wait_until(lambda: connection.call("DescribeTransactions", 0, transactional_ids=["slow"]).transaction_states[0]
                       .transaction_state == "CompleteAbort", "the transaction is aborted", self.broker)
            self.assertEqual(commit(), 120, "TRANSACTION_ABORTABLE")
            self.assertEqual(commit(3), 47, "INVALID_PRODUCER_EPOCH: the older version knows nothing else")
            self.assertEqual(commit(producer_epoch=-1), 47)
            self.assertEqual(commit(producer_id=-1), 49, "INVALID_PRODUCER_ID_MAPPING")
            self.assertEqual([commit(version, group_id="") for version in (3, 5)], [24, 24], "INVALID_GROUP_ID")
            again = self.init(connection, "slow", producer_id=who.producer_id, producer_epoch=who.producer_epoch)
            self.assertEqual(again.error_code, 0)
            self.assertEqual(commit(), 47, "another one has taken over")

    def test_mistakes_have_kafkas_error_codes(self):
        create_topic(self.broker, "t")
        with Connection(self.broker) as connection:
            who = self.begin(connection, "x")
            unknown_mapping, fenced, old_fenced, invalid_state = 49, 90, 47, 48
            self.assertEqual(self.init(connection, "").error_code, 42)
            self.assertEqual(connection.call("InitProducerId", 4, transactional_id="y", transaction_timeout_ms=0).error_code, 50)
            self.assertEqual(connection.call("InitProducerId", 4, transactional_id="y", transaction_timeout_ms=900001).error_code, 50)
            self.assertEqual(self.add(connection, "nobody", who), [unknown_mapping])
            self.assertEqual(self.add(connection, "x", who, producer_id=who.producer_id + 1), [unknown_mapping])
            self.assertEqual(self.add(connection, "x", who, producer_epoch=who.producer_epoch + 1), [fenced])
            self.assertEqual(self.add(connection, "x", who, version=0, producer_epoch=who.producer_epoch + 1), [old_fenced])
            self.assertEqual(self.add(connection, "x", who, topic="nothing"), [3])
            self.assertEqual(self.end(connection, "nobody", who, True), unknown_mapping)
            self.assertEqual(self.end(connection, "x", who, True, producer_epoch=who.producer_epoch + 1), fenced)
            self.assertEqual(self.end(connection, "x", who, False), 0)
            while (again := self.end(connection, "x", who, False)) == 51:
                pass
            self.assertEqual(again, 0, "the same once more")
            self.assertEqual(self.end(connection, "x", who, True), invalid_state, "it is aborted")
            described = connection.call("DescribeTransactions", 0, transactional_ids=["x", "nobody"]).transaction_states
            self.assertEqual([(each.error_code, each.transaction_state) for each in described], [(0, "CompleteAbort"), (105, "")])
            listed = connection.call("ListTransactions", 1, state_filters=["CompleteAbort", "Sleeping"], duration_filter=-1)
            self.assertEqual([each.transactional_id for each in listed.transaction_states], ["x"])
            self.assertEqual(listed.unknown_state_filters, ["Sleeping"])

    def test_a_late_request_of_an_older_connection_cannot_touch_the_next_transaction(self):
        create_topic(self.broker, "t")
        with Connection(self.broker) as old, Connection(self.broker) as new:
            who = self.begin(old, "x")
            self.assertEqual(self.end(new, "x", who, True), 0)
            while (added := self.add(new, "x", who)) == [51]:
                pass
            self.assertEqual(added, [0])
            # What the client has sent long ago, and repeated on its new connection.
            with self.assertRaises((EOFError, ConnectionError)):
                self.end(old, "x", who, True)
            state = new.call("DescribeTransactions", 0, transactional_ids=["x"]).transaction_states[0]
            self.assertEqual(state.transaction_state, "Ongoing")


class Copying(unittest.TestCase):
    """Copiers are killed, and brokers are bounced, while readers look on."""

    def setUp(self):
        self.running = {}
        self.told = []
        self.lock = threading.Lock()
        self.addCleanup(self.stop_copiers)

    def start_copier(self, address, number, config):
        process = subprocess.Popen([sys.executable, COPIER, address, "copiers", f"copier-{number}", "from", "to", config],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process.listener = threading.Thread(target=self.listen, args=(number, process), daemon=True)
        process.listener.start()
        self.running[number] = process

    def listen(self, number, process):
        for line in process.stdout:
            with self.lock:
                self.told.append((number, line.strip()))

    def committed(self):
        with self.lock:
            return sum(int(line.split()[1]) for _, line in self.told if line.startswith("committed"))

    def stop_copiers(self):
        for process in self.running.values():
            self.end_copier(process)
        self.running = {}

    @staticmethod
    def end_copier(process):
        process.kill()
        process.wait(PATIENCE_S)
        process.stdin.close()
        process.listener.join(PATIENCE_S)
        process.stdout.close()

    def fill(self, address, records, partitions):
        client = Producer({"bootstrap.servers": address, "enable.idempotence": True,
                           "queue.buffering.max.messages": 2 * records, **BACKOFF})
        for number in range(records):
            client.produce("from", f"{number}", partition=number % partitions)
            client.poll(0)
        self.assertEqual(client.flush(PATIENCE_S), 0)

    def copy_all(self, address, records, partitions, bounce):
        config = json.dumps({"records": 750})
        self.fill(address, records, partitions)
        seen = []
        watcher = threading.Thread(target=lambda: seen.append(
            read(address, "to", partitions, until=records, patience_s=3 * PATIENCE_S)))
        watcher.start()
        chance = random.Random(records)
        for number in range(2):
            self.start_copier(address, number, config)
        deadline = time.monotonic() + 3 * PATIENCE_S
        rounds = 0
        while watcher.is_alive():
            self.assertLess(time.monotonic(), deadline, f"{self.committed()} of {records} records; {self.told[-10:]}")
            watcher.join(chance.uniform(0.5, 1.5))
            if rounds < 6:
                victim = chance.randrange(2)
                self.end_copier(self.running[victim])
                self.start_copier(address, victim, config)
                bounce(rounds)
            for number, process in list(self.running.items()):
                if process.poll() is not None:  # fenced, as happens to one that was thought dead
                    self.end_copier(process)
                    self.start_copier(address, number, config)
            rounds += 1
        expected = {partition: [str(number) for number in range(records) if number % partitions == partition]
                    for partition in range(partitions)}
        self.assertEqual(len(seen), 1, "the reader that looked on has failed")
        for name, values in (("while it went on", seen[0]), ("afterwards", read(address, "to", partitions))):
            for partition in range(partitions):
                got, wanted = values[partition], expected[partition]
                self.assertEqual(sorted(got, key=int), sorted(wanted, key=int), f"{name}: lost or doubled in partition {partition}")
                self.assertEqual(got, wanted, f"{name}: out of order in partition {partition}")

    def test_one_broker(self):
        broker = Broker("--set", "offsets.topic.num.partitions=4", "--set", "transaction.state.log.num.partitions=4",
                        "--set", "group.initial.rebalance.delay.ms=0")
        self.addCleanup(broker.close)
        for topic in ("from", "to"):
            create_topic(broker, topic, partitions=3)

        def bounce(number):
            if number == 2:
                broker.kill()
                broker.start()
            elif number == 4:
                broker.terminate()
                broker.start()

        self.copy_all(broker.address, 100_000, 3, bounce)

    def test_three_brokers(self):
        folder = tempfile.TemporaryDirectory(prefix="naru-transactions-")
        self.addCleanup(folder.cleanup)
        machine = Loopback()
        store = services.Etcd(machine, folder.name, services.free_port(), services.free_port())
        self.addCleanup(store.close)
        store.start()
        settings = ["naru.admin.listener=", "naru.journal.bytes=8388608", "naru.coordination.session.timeout.ms=3000",
                    "offsets.topic.num.partitions=4", "transaction.state.log.num.partitions=4", "group.initial.rebalance.delay.ms=0"]
        brokers = [services.Broker(number, machine, folder.name, store, services.free_port(), settings=settings)
                   for number in (1, 2, 3)]
        for broker in brokers:
            self.addCleanup(broker.close)
            broker.start()
        self.wait_for(lambda: all((view := view_of(broker)) and len(view.brokers) == 3 for broker in brokers))
        addresses = ",".join(broker.address for broker in brokers)
        admin = AdminClient({"bootstrap.servers": addresses})
        for made in admin.create_topics([NewTopic(topic, 3, 3) for topic in ("from", "to")]).values():
            made.result(PATIENCE_S)

        def bounce(number):
            if number in (0, 2, 4):
                brokers[number // 2].kill()
                brokers[number // 2].start()

        self.copy_all(addresses, 100_000, 3, bounce)

    def wait_for(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
