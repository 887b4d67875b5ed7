"""Static members (group.instance.id): restarts without a rebalance, and two that claim to be the same."""

import unittest

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from group_scene import Scene, quiet
from kafka_messages import Connection, read_plain
from naru_process import PATIENCE_S

GROUP_METADATA = 2  # the kind of a key in __consumer_offsets


class StaticGroupsTest(unittest.TestCase):
    def setUp(self):
        self.scene = Scene("--set", "offsets.topic.num.partitions=1")
        self.addCleanup(self.scene.close)

    def member(self, name, **config):
        return self.scene.member("g", "t", group_instance_id=name, **config)

    def generations(self):
        """All generations that the group ever had, by what it has written to its log."""
        consumer = Consumer({**quiet(self.scene.broker), "group.id": "none", "enable.auto.commit": False})
        log = TopicPartition("__consumer_offsets", 0, OFFSET_BEGINNING)
        consumer.assign([log])
        _, end = consumer.get_watermark_offsets(log, PATIENCE_S)
        found, at = set(), -1
        while at < end - 1:  # members commit all the time, so there is always more
            message = consumer.poll(PATIENCE_S)
            self.assertIsNone(message.error())
            at, key, value = message.offset(), message.key(), message.value()
            if int.from_bytes(key[:2], "big") == GROUP_METADATA and value and read_plain("group_metadata_key", key).group == "g":
                found.add(read_plain("group_metadata_value", value).generation)
        consumer.close()
        return found

    def settled(self, count):
        """Members that share 6 partitions and read them all the time."""
        scene = self.scene
        partitions = scene.create_topic("t", 6)
        feed = scene.feed("t", 6)
        members = {f"static {i}": self.member(f"static {i}") for i in range(count)}
        scene.wait_shared(members.values(), partitions, *[6 // count] * count)
        return members, feed

    def restart_one_after_the_other(self, end):
        """No rebalance: neither a callback of a member that stays nor a generation of the group tells of one."""
        scene = self.scene
        members, feed = self.settled(3)
        before, gone = self.generations(), []
        for name in list(members):
            old = members[name]
            had = set(old.assignment)
            told = {other: len(member.events) for other, member in members.items() if other != name}
            end(old)
            gone.append(old)
            members[name] = self.member(name)
            scene.wait(lambda: members[name].assignment == had, f"{name} has again what it had")
            seen = {each: len(member.records) for each, member in members.items()}
            scene.wait(lambda: all(len(member.records) > seen[each] + 30 for each, member in members.items()), "all read on")
            for other, count in told.items():
                self.assertEqual(members[other].events[count:], [], f"{other} has noticed a restart of {name}")
        scene.wait_read([*gone, *members.values()], feed.stop())
        self.assertEqual(self.generations(), before)
        described = scene.describe("g")
        self.assertEqual(described.group_state, "Stable")
        self.assertEqual({member.group_instance_id for member in described.members}, set(members))

    def test_a_rolling_restart_causes_no_rebalance(self):
        self.restart_one_after_the_other(lambda member: self.assertEqual(member.leave(), 0))

    def test_killed_members_that_come_back_in_time_cause_no_rebalance(self):
        self.restart_one_after_the_other(lambda member: member.kill())

    def test_a_static_member_that_stays_away_is_missed_after_its_session(self):
        scene = self.scene
        partitions = scene.create_topic("t", 4)
        one, two = self.member("one"), self.member("two", session_timeout_ms=2000)
        scene.wait_shared([one, two], partitions, 2, 2)
        self.assertEqual(two.leave(), 0)
        scene.wait_shared([one], partitions, 4)
        self.assertEqual([member.group_instance_id for member in scene.describe("g").members], ["one"])

    def test_of_two_with_one_name_the_older_is_fenced(self):
        scene = self.scene
        members, feed = self.settled(2)
        before = self.generations()
        older, other = members["static 0"], members["static 1"]
        told = len(other.events)
        had = set(older.assignment)
        newer = self.member("static 0")
        scene.wait(lambda: older.errors, "the older one is told")
        self.assertIn("fenced by other consumer with same group.instance.id", older.errors[0])
        scene.wait(older.ended, "the older one ends")
        scene.wait(lambda: newer.assignment == had, "the newer one has its partitions")
        scene.wait_read([older, newer, other], feed.stop())
        self.assertEqual(other.events[told:], [])
        self.assertEqual(self.generations(), before)

    def test_leaving_by_instance_id_frees_its_partitions_at_once(self):
        scene = self.scene
        members, feed = self.settled(2)
        self.assertEqual(members["static 0"].leave(), 0)
        with Connection(scene.broker) as connection:
            answer = connection.call("LeaveGroup", 4, group_id="g", members=[{"group_instance_id": "static 0"},
                                                                               {"group_instance_id": "nobody"}])
        self.assertEqual((answer.error_code, [member.error_code for member in answer.members]), (0, [0, 25]))
        scene.wait_shared([members["static 1"]], {f"t/{i}" for i in range(6)}, 6)
        scene.wait_read(members.values(), feed.stop())


if __name__ == "__main__":
    unittest.main()
