"""Administration of groups, in every version of its APIs: listing, describing, deleting, and offsets by hand."""

import unittest

from group_scene import Scene
from kafka_messages import Connection, plain, versions_of
from naru_process import PATIENCE_S, wait_until

UNKNOWN_TOPIC, METADATA_TOO_LARGE, UNKNOWN_MEMBER, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND = 3, 12, 25, 68, 69
SUBSCRIBED, UNKNOWN_TOPIC_ID = 86, 100
OPERATIONS = {"read": 3, "delete": 6, "describe": 8, "describe configs": 10, "alter configs": 11}


class GroupAdminTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = Scene()
        cls.broker = cls.scene.broker
        cls.scene.create_topic("t", 3)
        cls.scene.create_topic("other", 2)
        cls.busy = cls.scene.member("busy", "t", client_id="someone")
        cls.scene.wait(lambda: len(cls.busy.assignment) == 3, "the member has its share")

    @classmethod
    def tearDownClass(cls):
        cls.scene.close()

    def setUp(self):
        self.connection = Connection(self.broker)
        self.addCleanup(lambda: self.connection.sock.close())  # the one that is there in the end

    def call(self, *request, **values):
        return self.connection.call(*request, **values)

    def topic_id(self, name):
        return self.call("Metadata", 12, topics=[{"name": name}]).topics[0].topic_id

    def commit(self, group, offsets, version=8, **more):
        """offsets: {topic: {partition: offset}}; the errors as {(topic, partition): error}"""
        by_id = version >= 10
        topics = [{"topic_id" if by_id else "name": self.topic_id(topic) if by_id else topic,
                   "partitions": [{"partition_index": index, "committed_offset": offset, "committed_metadata": f"v{version}"}
                                  for index, offset in partitions.items()]} for topic, partitions in offsets.items()]
        answer = self.call("OffsetCommit", version, group_id=group, topics=topics, **more)
        names = {self.topic_id(topic): topic for topic in offsets} if by_id else {}
        return {(names[topic.topic_id] if by_id else topic.name, partition.partition_index): partition.error_code
                for topic in answer.topics for partition in topic.partitions}

    def fetch(self, group, topics, version):
        """{(topic, partition): (offset, metadata)}; topics: {topic: partitions}, or None for all"""
        names = {}
        if version < 8:
            wanted = None if topics is None else [{"name": name, "partition_indexes": each} for name, each in topics.items()]
            answer = self.call("OffsetFetch", version, group_id=group, topics=wanted)
        else:
            if topics is None:
                wanted = None
            elif version < 10:
                wanted = [{"name": name, "partition_indexes": each} for name, each in topics.items()]
            else:
                wanted = [{"topic_id": self.topic_id(name), "partition_indexes": each} for name, each in topics.items()]
            answer = self.call("OffsetFetch", version, groups=[{"group_id": group, "topics": wanted}]).groups[0]
            names = {self.topic_id(name): name for name in ("t", "other")}
        if version >= 2:
            self.assertEqual(answer.error_code, 0)
        return {(topic.name if version < 10 else names[topic.topic_id], partition.partition_index):
                (partition.committed_offset, partition.metadata) for topic in answer.topics for partition in topic.partitions}

    def test_offsets_in_every_version(self):
        for version in versions_of("OffsetCommit"):
            for reading in versions_of("OffsetFetch"):
                with self.subTest(commit=version, fetch=reading):
                    group = f"versions-{version}-{reading}"
                    self.assertEqual(self.commit(group, {"t": {0: 10 + version, 2: 5}, "other": {1: 7}}, version),
                                     {("t", 0): 0, ("t", 2): 0, ("other", 1): 0})
                    told = f"v{version}"
                    self.assertEqual(self.fetch(group, {"t": [0, 1], "other": [1]}, reading),
                                     {("t", 0): (10 + version, told), ("t", 1): (-1, ""), ("other", 1): (7, told)})
                    if reading >= 2:
                        self.assertEqual(self.fetch(group, None, reading),
                                         {("t", 0): (10 + version, told), ("t", 2): (5, told), ("other", 1): (7, told)})

    def test_offsets_of_several_groups_at_once(self):
        for name in ("first", "second"):
            self.commit(name, {"t": {0: len(name)}})
        for version in (8, 9):
            answer = self.call("OffsetFetch", version, groups=[
                {"group_id": "first", "topics": None}, {"group_id": "never seen", "topics": None},
                {"group_id": "second", "topics": [{"name": "t", "partition_indexes": [0]}]}])
            found = {group.group_id: [(topic.name, partition.committed_offset) for topic in group.topics
                                      for partition in topic.partitions] for group in answer.groups}
            self.assertEqual(found, {"first": [("t", 5)], "never seen": [], "second": [("t", 6)]})
            self.assertEqual([group.error_code for group in answer.groups], [0, 0, 0])

    def test_offsets_of_topics_that_do_not_exist(self):
        self.assertEqual(self.commit("lost", {"t": {0: 1, 99: 1}, "absent": {0: 1}}),
                         {("t", 0): 0, ("t", 99): UNKNOWN_TOPIC, ("absent", 0): UNKNOWN_TOPIC})
        nobody = bytes(range(16))
        answer = self.call("OffsetCommit", 10, group_id="lost", topics=[
            {"topic_id": nobody, "partitions": [{"partition_index": 0, "committed_offset": 1}]}])
        self.assertEqual(answer.topics[0].partitions[0].error_code, UNKNOWN_TOPIC_ID)
        answer = self.call("OffsetFetch", 10, groups=[
            {"group_id": "lost", "topics": [{"topic_id": nobody, "partition_indexes": [0]}]}])
        self.assertEqual(answer.groups[0].topics[0].partitions[0].error_code, UNKNOWN_TOPIC_ID)
        self.assertEqual(self.fetch("lost", None, 8), {("t", 0): (1, "v8")})

    def test_the_metadata_of_an_offset_has_a_limit(self):
        def commit(size):
            return self.call("OffsetCommit", 8, group_id="wordy", topics=[{"name": "t", "partitions": [
                {"partition_index": 0, "committed_offset": size, "committed_metadata": "x" * size},
                {"partition_index": 1, "committed_offset": size}]}]).topics[0].partitions
        self.assertEqual([each.error_code for each in commit(4096)], [0, 0])
        self.assertEqual([each.error_code for each in commit(4097)], [METADATA_TOO_LARGE, 0])
        self.assertEqual(self.fetch("wordy", {"t": [0, 1]}, 8), {("t", 0): (4096, "x" * 4096), ("t", 1): (4097, "")})

    def test_strangers_cannot_commit_for_a_group_with_members(self):
        before = self.fetch("busy", None, 8)
        for version in versions_of("OffsetCommit"):
            self.assertEqual(set(self.commit("busy", {"t": {0: 77}}, version).values()), {UNKNOWN_MEMBER}, version)
        self.assertEqual(self.fetch("busy", None, 8), before)

    def test_list_groups(self):
        self.commit("at-rest", {"t": {0: 1}})
        def listed(version, **filters):
            answer = self.call("ListGroups", version, **filters)
            self.assertEqual(answer.error_code, 0)
            return {group.group_id: group for group in answer.groups}
        for version in versions_of("ListGroups"):
            found = listed(version)
            self.assertLessEqual({"at-rest", "busy"}, set(found))
            self.assertEqual((found["busy"].protocol_type, found["at-rest"].protocol_type), ("consumer", ""))
            if version >= 4:
                self.assertEqual((found["busy"].group_state, found["at-rest"].group_state), ("Stable", "Empty"))
            if version >= 5:
                self.assertEqual(found["busy"].group_type, "classic")
        for version in (4, 5):
            self.assertEqual(set(listed(version, states_filter=["Stable"])), {"busy"})
            self.assertEqual(set(listed(version, states_filter=["stable"])), {"busy"}, "whatever the case")
            self.assertIn("at-rest", listed(version, states_filter=["Empty"]))
            self.assertNotIn("busy", listed(version, states_filter=["Empty"]))
            self.assertEqual(listed(version, states_filter=["NoSuchState"]), {})
        self.assertIn("busy", listed(5, types_filter=["Classic"], states_filter=["Stable", "Empty"]))
        self.assertEqual(listed(5, types_filter=["consumer"]), {})
        self.assertEqual({group.id for group in self.scene.admin().list_groups("busy", PATIENCE_S)}, {"busy"})

    def test_describe_groups(self):
        for version in versions_of("DescribeGroups"):
            with self.subTest(version=version):
                busy, absent = self.call("DescribeGroups", version, groups=["busy", "absent"]).groups
                self.assertEqual((busy.error_code, busy.group_state, busy.protocol_type, busy.protocol_data),
                                 (0, "Stable", "consumer", "range"))
                (member,) = busy.members
                self.assertEqual((member.client_id, member.client_host), ("someone", "/127.0.0.1"))
                self.assertTrue(member.member_id.startswith("someone-"), member.member_id)
                self.assertIn(b"\0\x01t", member.member_assignment)
                self.assertIn(b"\0\x01t", member.member_metadata)
                self.assertEqual((absent.error_code, absent.group_state), (GROUP_ID_NOT_FOUND if version >= 6 else 0, "Dead"))
        group = self.call("DescribeGroups", 5, groups=["busy"], include_authorized_operations=True).groups[0]
        self.assertEqual(group.authorized_operations, sum(1 << bit for bit in OPERATIONS.values()))
        described = self.scene.admin().list_groups("busy", PATIENCE_S)[0]
        self.assertEqual((described.state, [each.client_id for each in described.members]), ("Stable", ["someone"]))

    def test_delete_groups(self):
        for version in versions_of("DeleteGroups"):
            self.commit("leftover", {"t": {0: 1}})
            answer = self.call("DeleteGroups", version, groups_names=["leftover", "absent", "busy", ""])
            self.assertEqual({each.group_id: each.error_code for each in answer.results},
                             {"leftover": 0, "absent": GROUP_ID_NOT_FOUND, "busy": NON_EMPTY_GROUP, "": GROUP_ID_NOT_FOUND})
            self.assertEqual(self.fetch("leftover", None, 8), {})
            self.assertNotIn("leftover", [group.group_id for group in self.call("ListGroups", 4).groups])
        self.assertFalse(self.busy.ended())

    def offset_delete(self, group, *partitions):
        topics = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append({"partition_index": index})
        answer = self.call("OffsetDelete", 0, group_id=group, topics=[{"name": name, "partitions": each}
                                                                        for name, each in topics.items()])
        return answer.error_code, {(topic.name, partition.partition_index): partition.error_code
                                   for topic in answer.topics for partition in topic.partitions}

    def test_offset_delete(self):
        self.commit("partly", {"t": {0: 1, 1: 2}, "other": {0: 3}})
        self.assertEqual(self.offset_delete("partly", ("t", 0), ("other", 0), ("absent", 0)),
                         (0, {("t", 0): 0, ("other", 0): 0, ("absent", 0): UNKNOWN_TOPIC}))
        self.assertEqual(self.fetch("partly", None, 8), {("t", 1): (2, "v8")})
        self.assertEqual(self.offset_delete("absent", ("t", 0))[0], GROUP_ID_NOT_FOUND)
        self.assertEqual(self.offset_delete("busy", ("t", 0), ("other", 0)), (0, {("t", 0): SUBSCRIBED, ("other", 0): 0}))

    def test_offsets_of_members_that_cannot_be_read_are_not_deleted(self):
        subscription = plain("consumer_protocol_subscription", 0, {"topics": ["t"]})
        metadata = {"version 0": subscription,
                    "as kafka-go": b"\0\1" + subscription[2:],  # without the field that version 1 has added
                    "newer than known": b"\0\x09" + plain("consumer_protocol_subscription", 3, {"topics": ["t"]})[2:] + b"more",
                    "garbage": b"\xff" * 50}
        for group, each in metadata.items():
            with self.subTest(group):
                request = {"group_id": group, "session_timeout_ms": 30000, "rebalance_timeout_ms": 30000, "protocol_type": "consumer",
                           "protocols": [{"name": "range", "metadata": each}]}
                self.commit(group, {"t": {0: 5}})
                joined = self.call("JoinGroup", 3, **request)
                self.call("SyncGroup", 3, group_id=group, member_id=joined.member_id, generation_id=joined.generation_id)
                self.assertEqual(self.offset_delete(group, ("t", 0)), (0, {("t", 0): SUBSCRIBED}))
                self.assertEqual(self.fetch(group, None, 8), {("t", 0): (5, "v8")})

    def test_offsets_survive_a_restart_and_deleted_ones_do_not_come_back(self):
        self.commit("lasting", {"t": {0: 11, 1: 12}})
        self.commit("lasting", {"t": {0: 13}})
        self.commit("removed", {"t": {0: 1}})
        self.call("DeleteGroups", 2, groups_names=["removed"])
        self.offset_delete("lasting", ("t", 1))
        self.broker.kill()
        self.broker.start()
        self.connection.sock.close()
        self.connection = Connection(self.broker)
        self.assertEqual(self.fetch("lasting", None, 8), {("t", 0): (13, "v8")})
        self.assertEqual(self.fetch("removed", None, 8), {})
        self.scene.wait(lambda: len(self.busy.assignment) == 3, "the member goes on")

    def test_the_offsets_of_a_deleted_topic_go_with_it(self):
        self.scene.create_topic("short-lived", 1)
        self.commit("bereaved", {"short-lived": {0: 9}, "t": {0: 1}})
        self.assertEqual(self.call("DeleteTopics", 5, topic_names=["short-lived"], timeout_ms=30000).responses[0].error_code, 0)
        wait_until(lambda: self.fetch("bereaved", None, 8) == {("t", 0): (1, "v8")}, "the offsets are gone", self.broker)
        self.scene.create_topic("short-lived", 1)
        self.assertEqual(self.fetch("bereaved", {"short-lived": [0]}, 8), {("short-lived", 0): (-1, "")})


if __name__ == "__main__":
    unittest.main()
