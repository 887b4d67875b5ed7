"""Single requests that a client may send and that cost far more than they look: the broker answers or refuses them, and
nobody else notices. Costs are measured in processor time and memory, not by the clock: the machine may be busy."""

import resource
import socket
import struct
import time
import unittest
import uuid

from kafka_messages import Connection, varint
from naru_process import PATIENCE_S, Broker, frame, is_closed, read_frame, wait_until
from raw_client import FETCH, PRODUCE, RawClient, batch

COORDINATOR_NOT_AVAILABLE, REQUEST_TIMED_OUT, UNKNOWN_TOPIC_ID = 15, 7, 100
LIST_TRANSACTIONS = 66
MIB = 1 << 20


def peak_memory(broker):
    with open(f"/proc/{broker.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def text(name):
    return struct.pack(">h", len(name)) + name.encode()


def flexible_frame(api, version, body):
    return frame(api, version, b"\0" + body)


class HostileRequestsTest(unittest.TestCase):
    def broker(self, *arguments, **keywords):
        broker = Broker(*arguments, **keywords)
        self.addCleanup(broker.close)
        with RawClient(broker) as client:
            self.assertEqual(client.create_topic("healthy"), 0)
        return broker

    def assert_serves(self, broker):
        self.assertIsNone(broker.process.poll(), broker.log)
        with RawClient(broker) as client:
            self.assertEqual(client.produce("healthy", batch([b"v"]))[0], 0)

    def test_leader_epochs_that_nobody_ever_had(self):
        broker = self.broker()
        with RawClient(broker) as client:
            client.create_topic("full")
            client.produce("full", batch([b"v"]))
        with Connection(broker) as client:
            for topic in ("healthy", "full"):
                for epoch in (-1, -2, -2**31):
                    answer = client.call("OffsetForLeaderEpoch", 3, replica_id=-1, topics=[
                        {"topic": topic, "partitions": [{"partition": 0, "leader_epoch": epoch}]}])
                    found = answer.topics[0].partitions[0]
                    self.assertEqual((found.error_code, found.leader_epoch, found.end_offset), (0, -1, -1))
        self.assert_serves(broker)

    def test_topic_ids_that_nobody_ever_had(self):
        broker = self.broker()
        for version in (10, 11, 12, 13):
            # A name that is null; from version 11 on there are fewer switches behind the topics.
            body = varint(2) + uuid.uuid4().bytes + b"\0\0" + b"\0" * (4 if version == 10 else 3)
            with RawClient(broker) as client:
                answer = client.call(flexible_frame(3, version, body))
                self.assertIn(struct.pack(">h", UNKNOWN_TOPIC_ID), answer)
        self.assert_serves(broker)

    def test_offsets_of_several_unknown_topic_ids_are_answered_each(self):
        broker = self.broker()
        with Connection(broker) as client:
            wait_until(lambda: client.call("FindCoordinator", 1, key="g", key_type=0).error_code == 0,
                       "the coordinator", broker)
            ids = [str(uuid.uuid4()), str(uuid.uuid4())]

            def fetch():
                return client.call("OffsetFetch", 10, groups=[{"group_id": "g", "member_epoch": -1, "topics": [
                    {"topic_id": uuid.UUID(one).bytes, "partition_indexes": [0]} for one in ids]}]).groups[0]
            wait_until(lambda: fetch().error_code == 0, "the group", broker)
            self.assertEqual([[one.error_code for one in topic.partitions] for topic in fetch().topics],
                             [[UNKNOWN_TOPIC_ID], [UNKNOWN_TOPIC_ID]])

    def test_forgetting_many_partitions_of_a_session(self):
        broker, count = self.broker(), 150_000

        def fetch(session, epoch, topics, forgotten):
            return frame(FETCH, 11, struct.pack(">iiiibii", -1, 0, 1, MIB, 0, session, epoch) + topics + forgotten + text(""))
        with RawClient(broker) as client:
            wanted = b"".join(struct.pack(">iiqqi", i, -1, 0, -1, 100) for i in range(count))
            answer = client.call(fetch(0, 0, struct.pack(">i", 1) + text("nosuch") + struct.pack(">i", count) + wanted,
                                       struct.pack(">i", 0)))
            session = struct.unpack(">i", answer[10:14])[0]
            self.assertGreater(session, 0)
            forgotten = struct.pack(f">{count - 1}i", *range(count - 1, 0, -1))
            before = broker.cpu_seconds()
            answer = client.call(fetch(session, 1, struct.pack(">i", 0), struct.pack(">i", 1) + text("nosuch") +
                                       struct.pack(">i", count - 1) + forgotten))
            self.assertEqual(struct.unpack(">h", answer[8:10])[0], 0)
        self.assertLess(broker.cpu_seconds() - before, 4)  # a quadratic structure needs more than ten
        self.assert_serves(broker)

    def test_listing_transactions_of_millions_of_producers(self):
        broker, ids, filters = self.broker(), 1500, 4_000_000
        with Connection(broker) as client:
            wait_until(lambda: client.call("FindCoordinator", 1, key="x", key_type=1).error_code == 0,
                       "the coordinator", broker)
            wait_until(lambda: client.call("InitProducerId", 0, transactional_id="first",
                                           transaction_timeout_ms=60000).error_code == 0, "an id", broker)
            for at in range(0, ids, 50):
                for i in range(at, at + 50):
                    client.send("InitProducerId", 0, transactional_id=f"id-{i}", transaction_timeout_ms=60000)
                self.assertEqual({client.receive().error_code for _ in range(50)}, {0})
        body = varint(1) + varint(filters + 1) + struct.pack(">q", 1 << 62) * filters + struct.pack(">q", -1) + b"\0"
        with RawClient(broker) as client:
            before = broker.cpu_seconds()
            client.call(flexible_frame(LIST_TRANSACTIONS, 1, body))
        # Each id compared with each filter would be six billion comparisons, besides fifty copies of the filters.
        self.assertLess(broker.cpu_seconds() - before, 1.5)
        self.assert_serves(broker)

    def test_a_client_that_does_not_read_keeps_few_files_open(self):
        limit, partitions = 256, 400
        broker = self.broker(limits={resource.RLIMIT_NOFILE: limit})
        with RawClient(broker) as client, socket.socket() as deaf:
            client.create_topic("many", partitions)
            client.create_topic("big")
            for partition in range(partitions):
                self.assertEqual(client.produce("many", batch([b"v" * 100]), partition)[0], 0)
            for _ in range(12):
                client.produce("big", batch([b"v" * 900_000]))
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", broker.port))

            def fetch(topic, wanted, max_bytes):
                body = struct.pack(">iiiibi", -1, 0, 1, 50 * MIB, 0, 1) + text(topic) + struct.pack(">i", len(wanted))
                return frame(FETCH, 4, body + b"".join(struct.pack(">iqi", one, 0, max_bytes) for one in wanted))
            deaf.sendall(fetch("big", [0], 50 * MIB))
            for at in range(0, partitions, 10):
                deaf.sendall(fetch("many", range(at, at + 10), 1000))
            for round_ in range(3):
                for partition in range(0, partitions, 20):
                    self.assertEqual(client.produce("many", batch([b"v"]), partition, acks=-1)[0], 0)
                for _ in range(10):
                    self.assert_serves(broker)
                # A client that does read gets everything, whoever keeps files open.
                self.assertIn(b"v" * 100, client.fetch("many", 0, round_)[2])

    def test_deleting_records_of_one_partition_many_times(self):
        broker, times = self.broker(), 20_000
        with Connection(broker) as client:
            partitions = [{"partition_index": 0, "offset": 0}] * 500
            answer = client.call("DeleteRecords", 1, topics=[{"name": "healthy", "partitions": partitions}],
                                 timeout_ms=60000)
            self.assertEqual(len(answer.topics[0].partitions), 1)
            self.assertEqual(answer.topics[0].partitions[0].error_code, 0)
        # Each of them would be two milliseconds or more, for nobody.
        names = [{"name": "healthy", "partitions": [{"partition_index": 0, "offset": 0}]}] * times
        with Connection(broker) as client:
            client.send("DeleteRecords", 1, topics=names, timeout_ms=2**31 - 1)
        begun = time.monotonic()
        broker.terminate()
        self.assertLess(time.monotonic() - begun, 20)

    def test_produce_requests_that_are_large_when_decoded(self):
        broker, partitions = self.broker("--set", "naru.memory.budget.bytes=536870912"), 800_000
        body = b"\0" + struct.pack(">hi", 1, 1000) + varint(2) + varint(7) + b"nosuch" + varint(partitions + 1)
        request = flexible_frame(PRODUCE, 9, body + (struct.pack(">i", 0) + b"\0\0") * partitions + b"\0\0")
        sockets = [broker.connect() for _ in range(6)]
        for sock in sockets:
            sock.sendall(request)
        for sock in sockets:
            sock.settimeout(PATIENCE_S)
            self.assertTrue(is_closed(sock), "neither decoded nor answered: the budget has no room for it")
            sock.close()
        self.assertLess(peak_memory(broker), 500 * MIB)
        self.assert_serves(broker)
        with RawClient(broker) as client:
            few = flexible_frame(PRODUCE, 9, body.replace(varint(partitions + 1), varint(5001)) +
                                 (struct.pack(">i", 0) + b"\0\0") * 5000 + b"\0\0")
            self.assertGreater(len(client.call(few)), 5000 * 30, "an ordinary number is answered, each with its error")

    def test_members_that_say_much(self):
        broker, members, said = self.broker(), 30, 15 * MIB // 2
        sockets, errors = [], []
        with Connection(broker) as client:
            wait_until(lambda: client.call("FindCoordinator", 1, key="g", key_type=0).error_code == 0,
                       "the coordinator", broker)
            wait_until(lambda: client.call("Heartbeat", 0, group_id="g", generation_id=1, member_id="m").error_code == 25,
                       "the group", broker)
        for member in range(members):
            body = text(f"group-{member}") + struct.pack(">ii", 1_800_000, 2**31 - 1) + text("") + text("consumer")
            sock = broker.connect()
            sock.settimeout(PATIENCE_S)
            sock.sendall(frame(11, 1, body + struct.pack(">i", 1) + text("range") + struct.pack(">i", said) + bytes(said)))
            sockets.append(sock)
        for sock in sockets:
            errors.append(struct.unpack(">h", read_frame(sock)[4:6])[0])
            sock.close()
        self.assertEqual(set(errors), {0, COORDINATOR_NOT_AVAILABLE})
        self.assertLess(peak_memory(broker), 900 * MIB)
        self.assert_serves(broker)

    def test_offsets_with_long_notes(self):
        partitions, groups = 100, 100
        broker = self.broker("--set", "naru.memory.budget.bytes=33554432", "--set", "socket.request.max.bytes=8388608",
                             "--set", "naru.max.decompressed.bytes=4194304")
        with Connection(broker) as client, RawClient(broker) as raw:
            raw.create_topic("many", partitions)
            wait_until(lambda: client.call("FindCoordinator", 1, key="g", key_type=0).error_code == 0,
                       "the coordinator", broker)

            def commit(group, note):
                topics = [{"name": "many", "partitions": [
                    {"partition_index": i, "committed_offset": 1, "committed_metadata": note} for i in range(partitions)]}]
                answer = client.call("OffsetCommit", 2, group_id=group, generation_id_or_member_epoch=-1, member_id="",
                                     retention_time_ms=-1, topics=topics)
                errors = {one.error_code for one in answer.topics[0].partitions}
                self.assertEqual(len(errors), 1, "a commit is taken as a whole or not at all")
                return errors.pop()
            wait_until(lambda: commit("group-0", "n" * 4000) == 0, "the group", broker)
            errors = [commit(f"group-{i}", "n" * 4000) for i in range(groups)]
            # Each takes 400 KiB, and all of them may take a quarter of 32 MiB.
            self.assertLess(errors.count(0), 25)
            self.assertEqual(set(errors), {0, COORDINATOR_NOT_AVAILABLE})
            self.assertEqual(commit("group-0", "m" * 4000), 0, "what replaces as much is never refused")
            self.assertEqual(commit("group-0", ""), 0)
            self.assertEqual(client.call("DeleteGroups", 1, groups_names=["group-0", "group-1"]).results[1].error_code, 0)
            self.assertEqual(commit(f"group-{groups}", "n" * 4000), 0, "there is room again")
        self.assert_serves(broker)


if __name__ == "__main__":
    unittest.main()
