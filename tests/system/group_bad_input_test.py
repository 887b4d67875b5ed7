"""What no good client asks a group coordinator: the right error each time, no closed connection, and no other group disturbed."""

import os
import struct
import unittest

from group_scene import Scene
from kafka_messages import Connection, plain, versions_of
from raw_client import batch

INVALID_TOPIC, ILLEGAL_GENERATION, INCONSISTENT_PROTOCOL, INVALID_GROUP_ID, UNKNOWN_MEMBER, INVALID_SESSION = 17, 22, 23, 24, 25, 26
POLICY_VIOLATION, GROUP_ID_NOT_FOUND, MEMBER_ID_REQUIRED, GROUP_MAX_SIZE_REACHED, FENCED_INSTANCE, GROUP_SUBSCRIBED = 44, 69, 79, 81, 82, 86
LONGEST_GROUP_ID = 1024
LONGEST_STRING = 32767  # that the older versions can say


class GroupBadInputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = Scene()
        cls.broker = cls.scene.broker
        cls.partitions = cls.scene.create_topic("t", 4)
        cls.feed = cls.scene.feed("t", 4, per_second=100)
        cls.good = [cls.scene.member("good", "t") for _ in range(2)]
        cls.scene.wait_shared(cls.good, cls.partitions, 2, 2)

    @classmethod
    def tearDownClass(cls):
        cls.scene.close()

    def setUp(self):
        self.connection = Connection(self.broker)
        self.addCleanup(self.connection.sock.close)
        self.told = [len(member.events) for member in self.good]

    def tearDown(self):
        """The connection still answers, and the good group has read on without a rebalance."""
        self.assertEqual(self.connection.call("Heartbeat", 4, group_id="good", member_id="x").error_code, UNKNOWN_MEMBER)
        seen = [len(member.records) for member in self.good]
        self.scene.wait(lambda: all(len(member.records) > count + 5 for member, count in zip(self.good, seen)), "the good group reads")
        self.assertEqual([len(member.events) for member in self.good], self.told)
        self.assertIsNone(self.broker.process.poll(), self.broker.log)

    def call(self, *request, **values):
        return self.connection.call(*request, **values)

    def join(self, group="g", version=9, connection=None, **values):
        values = {"group_id": group, "session_timeout_ms": 30000, "rebalance_timeout_ms": 30000, "protocol_type": "consumer",
                  "protocols": [{"name": "range", "metadata": b"anything"}], **values}
        return (connection or self.connection).call("JoinGroup", version, **values)

    def member(self, group, **values):
        """A group with one member that has its assignment: (member id, generation)"""
        member_id = self.join(group, **values).member_id
        joined = self.join(group, member_id=member_id, **values)
        self.assertEqual((joined.error_code, joined.leader), (0, member_id))
        synced = self.call("SyncGroup", 5, group_id=group, member_id=member_id, generation_id=joined.generation_id,
                           assignments=[{"member_id": member_id, "assignment": b"yours"}])
        self.assertEqual((synced.error_code, synced.assignment), (0, b"yours"))
        return member_id, joined.generation_id

    def test_an_unknown_group_has_no_members(self):
        for version in versions_of("Heartbeat"):
            self.assertEqual(self.call("Heartbeat", version, group_id="unknown", member_id="m", generation_id=1).error_code,
                             UNKNOWN_MEMBER)
        for version in versions_of("SyncGroup"):
            self.assertEqual(self.call("SyncGroup", version, group_id="unknown", member_id="m", generation_id=1).error_code,
                             UNKNOWN_MEMBER)
        for version in versions_of("LeaveGroup"):
            if version < 3:
                self.assertEqual(self.call("LeaveGroup", version, group_id="unknown", member_id="m").error_code, UNKNOWN_MEMBER)
            else:
                answer = self.call("LeaveGroup", version, group_id="unknown", members=[{"member_id": "m"}])
                self.assertEqual((answer.error_code, answer.members[0].error_code), (0, UNKNOWN_MEMBER))
        for version in versions_of("JoinGroup"):
            self.assertEqual(self.join("unknown", version, member_id="made up").error_code, UNKNOWN_MEMBER)
        self.assertEqual(self.commit("unknown", "m", 5), ILLEGAL_GENERATION)
        self.assertNotIn("unknown", [group.group_id for group in self.call("ListGroups", 4).groups])

    def commit(self, group, member_id, generation, **more):
        answer = self.call("OffsetCommit", 8, group_id=group, member_id=member_id, generation_id_or_member_epoch=generation, topics=[
            {"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}], **more)
        return answer.topics[0].partitions[0].error_code

    def test_wrong_members_and_generations(self):
        member_id, generation = self.member("strict")
        who = {"group_id": "strict", "member_id": member_id}
        for wrong in (generation - 1, generation + 1, -1, 2**31 - 1):
            self.assertEqual(self.call("Heartbeat", 4, generation_id=wrong, **who).error_code, ILLEGAL_GENERATION)
            self.assertEqual(self.call("SyncGroup", 5, generation_id=wrong, **who).error_code, ILLEGAL_GENERATION)
            self.assertEqual(self.commit("strict", member_id, wrong), ILLEGAL_GENERATION)
        for stranger in ("someone else", "", "x" * 10000):
            who["member_id"] = stranger
            self.assertEqual(self.call("Heartbeat", 4, generation_id=generation, **who).error_code, UNKNOWN_MEMBER)
            self.assertEqual(self.call("SyncGroup", 5, generation_id=generation, **who).error_code, UNKNOWN_MEMBER)
            self.assertEqual(self.commit("strict", stranger, generation), UNKNOWN_MEMBER)
        who["member_id"] = member_id
        for instance in ("nobody", ""):
            self.assertEqual(self.call("Heartbeat", 4, generation_id=generation, group_instance_id=instance, **who).error_code,
                             UNKNOWN_MEMBER)
            self.assertEqual(self.commit("strict", member_id, generation, group_instance_id=instance), UNKNOWN_MEMBER)
        for names in ({"protocol_name": "roundrobin"}, {"protocol_type": "connect"}):
            self.assertEqual(self.call("SyncGroup", 5, generation_id=generation, **names, **who).error_code, INCONSISTENT_PROTOCOL)
        self.assertEqual(self.call("Heartbeat", 4, generation_id=generation, **who).error_code, 0, "the member is as before")
        self.assertEqual(self.commit("strict", member_id, generation), 0)

    def test_a_fenced_instance_is_told_so_everywhere(self):
        static = {"group_instance_id": "me"}
        old = self.join("static", **static)
        self.assertEqual(old.error_code, 0)
        self.call("SyncGroup", 5, group_id="static", member_id=old.member_id, generation_id=old.generation_id, **static,
                  assignments=[{"member_id": old.member_id, "assignment": b"mine"}])
        new = self.join("static", **static)
        self.assertEqual((new.error_code, new.generation_id, new.skip_assignment), (0, old.generation_id, True))
        who = {"group_id": "static", "member_id": old.member_id, "generation_id": old.generation_id, **static}
        self.assertEqual(self.call("Heartbeat", 4, **who).error_code, FENCED_INSTANCE)
        self.assertEqual(self.call("SyncGroup", 5, **who).error_code, FENCED_INSTANCE)
        self.assertEqual(self.commit("static", old.member_id, old.generation_id, **static), FENCED_INSTANCE)
        self.assertEqual(self.join("static", member_id=old.member_id, **static).error_code, FENCED_INSTANCE)
        left = self.call("LeaveGroup", 5, group_id="static", members=[{"member_id": old.member_id, **static}])
        self.assertEqual(left.members[0].error_code, FENCED_INSTANCE)
        who["member_id"] = new.member_id
        self.assertEqual(self.call("SyncGroup", 5, **who).assignment, b"mine")

    def test_empty_group_ids(self):
        for version in versions_of("JoinGroup"):
            self.assertEqual(self.join("", version).error_code, INVALID_GROUP_ID)
        self.assertEqual(self.call("SyncGroup", 5, member_id="m", generation_id=1).error_code, INVALID_GROUP_ID)
        self.assertEqual(self.call("Heartbeat", 4, member_id="m", generation_id=1).error_code, INVALID_GROUP_ID)
        self.assertEqual(self.call("LeaveGroup", 5, members=[{"member_id": "m"}]).error_code, INVALID_GROUP_ID)
        # These were once about groups without members, which may be called that.
        self.assertEqual(self.call("OffsetDelete", 0).error_code, GROUP_ID_NOT_FOUND)
        self.assertEqual(self.call("DeleteGroups", 2, groups_names=[""]).results[0].error_code, GROUP_ID_NOT_FOUND)

    def test_session_timeouts_out_of_range(self):
        for timeout in (0, -1, 999, 1_800_001, 2**31 - 1, -2**31):
            for version in (0, 9):
                self.assertEqual(self.join("hasty", version, session_timeout_ms=timeout).error_code, INVALID_SESSION, timeout)
        for timeout in (1000, 1_800_000):
            self.assertEqual(self.join("hasty", session_timeout_ms=timeout).error_code, MEMBER_ID_REQUIRED)

    def test_strange_rebalance_timeouts(self):
        for timeout in (-1, 0, -2**31, 2**31 - 1):
            member_id, generation = self.member(f"patient {timeout}", rebalance_timeout_ms=timeout)
            self.assertEqual(self.call("Heartbeat", 4, group_id=f"patient {timeout}", member_id=member_id,
                                       generation_id=generation).error_code, 0)

    def test_protocols_that_do_not_fit(self):
        for version in (0, 5, 9):
            self.assertEqual(self.join("choosy", version, protocols=[]).error_code, INCONSISTENT_PROTOCOL)
            self.assertEqual(self.join("choosy", version, protocol_type="").error_code, INCONSISTENT_PROTOCOL)
        member_id, generation = self.member("choosy")
        with Connection(self.broker) as other:
            for wrong in ({"protocol_type": "connect"}, {"protocols": [{"name": "roundrobin"}]}, {"protocols": []}):
                self.assertEqual(self.join("choosy", connection=other, **wrong).error_code, INCONSISTENT_PROTOCOL)
                self.assertEqual(self.join("choosy", version=3, connection=other, **wrong).error_code, INCONSISTENT_PROTOCOL)
        self.assertEqual(self.call("Heartbeat", 4, group_id="choosy", member_id=member_id, generation_id=generation).error_code, 0)

    def test_garbage_as_metadata_and_assignment_is_passed_on(self):
        subscribed = plain("consumer_protocol_subscription", 1, {"topics": ["t"]})
        garbage = [b"", b"\0", b"\xff" * 100, os.urandom(1000), struct.pack(">hi", 3, 2**31 - 1), subscribed[:-1],
                   struct.pack(">hi", 32767, 5) + b"\0\x05abc", b"x" * 500_000]
        for i, metadata in enumerate(garbage):
            group = f"garbage {i}"
            protocols = [{"name": "range", "metadata": metadata}]
            member_id = self.join(group, protocols=protocols).member_id
            joined = self.join(group, member_id=member_id, protocols=protocols)
            self.assertEqual(joined.members[0].metadata, metadata)
            synced = self.call("SyncGroup", 5, group_id=group, member_id=member_id, generation_id=joined.generation_id,
                               assignments=[{"member_id": member_id, "assignment": metadata}, {"member_id": "nobody"}])
            self.assertEqual((synced.error_code, synced.assignment), (0, metadata))
            described = self.call("DescribeGroups", 5, groups=[group]).groups[0]
            self.assertEqual((described.group_state, described.members[0].member_metadata), ("Stable", metadata))
            deleted = self.call("OffsetDelete", 0, group_id=group, topics=[{"name": "t", "partitions": [{"partition_index": 0}]}])
            self.assertEqual((deleted.error_code, deleted.topics[0].partitions[0].error_code), (0, GROUP_SUBSCRIBED),
                             "whoever cannot be understood may read anything")

    def test_metadata_that_is_too_large_for_the_log_is_refused(self):
        # The members' metadata have to fit into one record of __consumer_offsets.
        before = self.broker.resident_bytes()
        for _ in range(3):
            protocols = [{"name": "range", "metadata": b"x" * 20_000_000}]
            self.assertEqual(self.join("heavy", protocols=protocols).error_code, GROUP_MAX_SIZE_REACHED)
        self.assertLess(self.broker.resident_bytes() - before, 300 << 20)

    def test_a_group_that_is_described_again_and_again_is_described_within_bounds(self):
        self.member("large", protocols=[{"name": "range", "metadata": b"x" * 200_000}])
        before = self.broker.resident_bytes()
        with Connection(self.broker) as other:
            answer = other.call("DescribeGroups", 5, groups=["large"] * 2000)
        self.assertLess(sum(bool(group.members) for group in answer.groups), 300, "200 kB each")
        self.assertLess(self.broker.resident_bytes() - before, 300 << 20)

    def test_very_many_protocols_and_members_to_leave(self):
        protocols = [{"name": f"p{i}"} for i in range(20_000)]
        self.assertEqual(self.join("motley", protocols=protocols).error_code, MEMBER_ID_REQUIRED)
        member_id, _ = self.member("emptied")
        answer = self.call("LeaveGroup", 5, group_id="emptied", members=[{"member_id": member_id}] * 10_000)
        self.assertEqual([each.error_code for each in answer.members[:2]], [0, UNKNOWN_MEMBER])
        self.assertEqual(len(answer.members), 10_000)

    def test_very_long_group_ids(self):
        for size in (249, 250, LONGEST_GROUP_ID):
            group = "g" * size
            member_id, generation = self.member(group)
            self.assertEqual(self.call("Heartbeat", 3, group_id=group, member_id=member_id, generation_id=generation).error_code, 0)
            self.assertEqual(self.commit(group, member_id, generation), 0)
            self.assertEqual(self.call("LeaveGroup", 1, group_id=group, member_id=member_id).error_code, 0)
            self.assertEqual(self.scene.committed(group), {"t/0": 1})
        for size in (LONGEST_GROUP_ID + 1, LONGEST_STRING):
            self.assertEqual(self.join("g" * size).error_code, INVALID_GROUP_ID)
            self.assertEqual(self.commit("g" * size, "", -1), INVALID_GROUP_ID)

    def test_ids_that_are_longer_than_a_record_can_say_are_refused_as_malformed(self):
        # Flexible versions could say more than 32,767 bytes; as with Kafka, a string may not.
        for request in (lambda other: self.join("g" * (LONGEST_STRING + 1), connection=other),
                        lambda other: self.join("named", connection=other, group_instance_id="i" * (LONGEST_STRING + 1))):
            with Connection(self.broker) as other, self.assertRaises((EOFError, ConnectionResetError)):
                request(other)

    def test_odd_characters_in_group_ids(self):
        for group in ("\0", "a/b", "../..", "Gruppe ü 群", "\n", "%s%n", " "):
            self.assertEqual(self.commit(group, "", -1), 0)
            self.assertEqual(self.scene.committed(group), {"t/0": 1})

    def test_ten_thousand_groups_with_one_commit_each(self):
        before = self.broker.resident_bytes()
        topics = [{"name": "t", "partitions": [{"partition_index": 1, "committed_offset": 3}]}]
        for start in range(0, 10_000, 500):
            for i in range(start, start + 500):
                self.connection.send("OffsetCommit", 5, group_id=f"many {i}", topics=topics)
            for _ in range(500):
                self.assertEqual(self.connection.receive().topics[0].partitions[0].error_code, 0)
        self.assertLess(self.broker.resident_bytes() - before, 100 << 20)
        listed = {group.group_id for group in self.call("ListGroups", 4).groups}
        self.assertLessEqual({f"many {i}" for i in range(10_000)}, listed)
        self.assertEqual(self.scene.committed("many 9999"), {"t/1": 3})

    def test_the_internal_topic_is_not_for_clients(self):
        name = "__consumer_offsets"
        before = self.scene.committed("good")
        produced = self.call("Produce", 8, acks=-1, timeout_ms=1000, topic_data=[
            {"name": name, "partition_data": [{"index": 0, "records": batch([b"x"])}]}])
        self.assertEqual(produced.responses[0].partition_responses[0].error_code, INVALID_TOPIC)
        created = self.call("CreateTopics", 5, timeout_ms=1000, topics=[{"name": name, "num_partitions": 1, "replication_factor": 1}])
        self.assertEqual(created.topics[0].error_code, INVALID_TOPIC)
        deleted = self.call("DeleteTopics", 5, topic_names=[name], timeout_ms=1000)
        self.assertEqual(deleted.responses[0].error_code, INVALID_TOPIC)
        grown = self.call("CreatePartitions", 1, timeout_ms=1000, topics=[{"name": name, "count": 60}])
        self.assertEqual(grown.results[0].error_code, INVALID_TOPIC)
        emptied = self.call("DeleteRecords", 1, timeout_ms=1000, topics=[
            {"name": name, "partitions": [{"partition_index": 0, "offset": -1}]}])
        self.assertEqual(emptied.topics[0].partitions[0].error_code, POLICY_VIOLATION)
        described = self.call("Metadata", 8, topics=[{"name": name}]).topics[0]
        self.assertEqual((described.error_code, described.is_internal, len(described.partitions)), (0, True, 50))
        for partition, offset in self.scene.committed("good").items():
            self.assertGreaterEqual(offset, before.get(partition, 0))


if __name__ == "__main__":
    unittest.main()
