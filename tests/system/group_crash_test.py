"""kill -9 of the broker in the middle of what groups do: members go on by themselves, and nothing committed is lost."""

import unittest

from group_scene import Scene


class GroupCrashTest(unittest.TestCase):
    def setUp(self):
        self.scene = Scene()
        self.addCleanup(self.scene.close)
        self.partitions = self.scene.create_topic("t", 4)
        self.feed = self.scene.feed("t", 4)

    def member(self, **config):
        return self.scene.member("g", "t", **{"enable_auto_commit": False, "commit_every": 10, **config})

    def crash(self):
        """Kills and restarts the broker. No offset that a member was told is committed may be lower afterwards."""
        scene = self.scene
        told = {}
        with scene.news:
            for member in scene.members:
                for partition, offset in member.committed.items():
                    told[partition] = max(told.get(partition, 0), offset)
        scene.broker.kill()
        scene.broker.start()
        there = scene.committed("g")
        for partition, offset in told.items():
            self.assertGreaterEqual(there.get(partition, -1), offset, partition)

    def reads_on(self, *members):
        seen = [len(member.records) for member in members]
        self.scene.wait(lambda: all(len(member.records) > count + 100 for member, count in zip(members, seen)), "all read on")

    def nothing_is_skipped(self):
        self.scene.wait_read(self.scene.members, self.feed.stop())

    def stop_and_start_again(self, *members):
        """What a group has committed that stopped in order is not read again by a later one, nor is anything after it skipped."""
        scene = self.scene
        for member in members:
            self.assertEqual(member.leave(), 0)
        scene.broker.kill()
        scene.broker.start()
        committed = scene.committed("g")
        late = self.member()
        scene.wait_shared([late], self.partitions, 4)
        feed = scene.feed("t", 4, first=self.feed.acknowledged)
        scene.wait(lambda: {record.partition for record in late.records} == self.partitions, "all partitions are read")
        feed.stop()
        for partition in self.partitions:
            self.assertEqual(min(record.offset for record in late.records if record.partition == partition), committed[partition])

    def test_while_members_read_and_commit(self):
        one, two = self.member(), self.member()
        self.scene.wait_shared([one, two], self.partitions, 2, 2)
        for _ in range(3):
            self.reads_on(one, two)
            self.crash()
        self.reads_on(one, two)
        self.scene.wait_shared([one, two], self.partitions, 2, 2)
        self.nothing_is_skipped()
        self.stop_and_start_again(one, two)

    def test_while_members_commit_on_their_own_in_time(self):
        config = {"enable_auto_commit": True, "commit_every": 0, "auto_commit_interval_ms": 50}
        one, two = self.member(**config), self.member(**config)
        self.scene.wait_shared([one, two], self.partitions, 2, 2)
        self.reads_on(one, two)
        self.crash()
        self.reads_on(one, two)
        self.nothing_is_skipped()
        self.stop_and_start_again(one, two)

    def test_while_a_member_joins(self):
        scene = self.scene
        one = self.member()
        scene.wait_shared([one], self.partitions, 4)
        self.reads_on(one)
        two = self.member()
        scene.wait(lambda: ("revoked", frozenset(self.partitions)) in one.events, "the rebalance has begun")
        self.crash()
        scene.wait_shared([one, two], self.partitions, 2, 2)
        self.reads_on(one, two)
        self.nothing_is_skipped()

    def test_while_cooperative_members_join(self):
        scene = self.scene
        one = self.member(partition_assignment_strategy="cooperative-sticky")
        scene.wait_shared([one], self.partitions, 4)
        two = self.member(partition_assignment_strategy="cooperative-sticky")
        # All of it, if a commit of the old generation meets the new one: then the client has lost its share.
        scene.wait(lambda: any(what in ("revoked", "lost") for what, _ in one.events), "the first gives up a part")
        self.crash()
        scene.wait_shared([one, two], self.partitions, 2, 2)
        self.reads_on(one, two)
        self.nothing_is_skipped()

    def test_while_a_member_leaves(self):
        scene = self.scene
        one, two = self.member(), self.member(session_timeout_ms=3000)
        scene.wait_shared([one, two], self.partitions, 2, 2)
        self.reads_on(one, two)
        two.process.stdin.close()
        self.crash()
        scene.wait(two.ended, "the one that leaves ends")
        scene.wait_shared([one], self.partitions, 4)
        self.nothing_is_skipped()

    def test_while_a_dead_member_is_not_yet_missed(self):
        scene = self.scene
        one, two = self.member(), self.member(session_timeout_ms=3000)
        scene.wait_shared([one, two], self.partitions, 2, 2)
        self.reads_on(one, two)
        two.kill()
        self.crash()
        scene.wait_shared([one], self.partitions, 4)
        self.nothing_is_skipped()

    def test_with_static_members_which_stay_members(self):
        scene = self.scene
        one, two = [self.member(group_instance_id=f"static {i}") for i in range(2)]
        scene.wait_shared([one, two], self.partitions, 2, 2)
        self.reads_on(one, two)
        told = len(one.events), len(two.events)
        self.crash()
        self.reads_on(one, two)
        self.assertEqual((len(one.events), len(two.events)), told, "members and their shares survive")
        self.nothing_is_skipped()

    def test_with_other_libraries(self):
        scene = self.scene
        one, two = scene.member("g", "t", library="kafka-python"), scene.kcat("g", "t")
        scene.wait_shared([one, two], self.partitions, 2, 2)
        self.reads_on(one, two)
        self.crash()
        self.reads_on(one, two)
        self.nothing_is_skipped()


if __name__ == "__main__":
    unittest.main()
