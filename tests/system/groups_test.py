"""Groups of stock clients: who reads what when members come, leave and die, and that each record is read."""

import sys
import time
import unittest

from group_scene import Scene
from kafka_messages import Connection, plain
from naru_process import wait_until


class GroupsTest(unittest.TestCase):
    def setUp(self):
        self.scene = Scene()
        self.addCleanup(self.scene.close)

    def read_once(self, members, count):
        """All numbers were read, and none twice: members that come and go in order commit what they have read."""
        self.scene.wait_read(members, count)
        values = sorted(value for member in members for value in member.values())
        self.assertEqual(values, list(range(count)))

    def join_and_leave(self, member, leaves_at_rest=False):
        """Members come one after the other and share 4 partitions, then the first leaves, while records arrive all the time."""
        scene = self.scene
        partitions = scene.create_topic("t", 4)
        feed = scene.feed("t", 4)
        one = member()
        scene.wait_shared([one], partitions, 4)
        two = member()
        scene.wait_shared([one, two], partitions, 2, 2)
        seen = len(two.records)
        scene.wait(lambda: len(two.records) > seen + 50, "the second member reads")
        if leaves_at_rest:
            sent = feed.stop()
            self.read_once([one, two], sent)
        self.assertEqual(one.leave(), 0)
        if leaves_at_rest:
            feed = scene.feed("t", 4, first=sent)
        scene.wait_shared([two], partitions, 4)
        seen = len(two.records)
        scene.wait(lambda: len(two.records) > seen + 50, "the other one goes on")
        self.read_once([one, two], feed.stop())
        self.assertEqual(two.leave(), 0)
        self.assertEqual(scene.describe("g").group_state, "Empty")

    def test_range(self):
        self.join_and_leave(lambda: self.scene.member("g", "t", partition_assignment_strategy="range"))

    def test_roundrobin(self):
        self.join_and_leave(lambda: self.scene.member("g", "t", partition_assignment_strategy="roundrobin"))

    def test_cooperative_sticky(self):
        self.join_and_leave(lambda: self.scene.member("g", "t", partition_assignment_strategy="cooperative-sticky"))

    def test_kcat(self):
        self.join_and_leave(lambda: self.scene.kcat("g", "t"), leaves_at_rest=True)

    def test_kafka_python(self):
        self.join_and_leave(lambda: self.scene.member("g", "t", library="kafka-python"))

    def test_three_libraries_in_one_group(self):
        scene = self.scene
        partitions = scene.create_topic("t", 6)
        feed = scene.feed("t", 6)
        members = [scene.member("g", "t")]
        scene.wait_shared(members, partitions)
        members.append(scene.member("g", "t", library="kafka-python"))
        scene.wait_shared(members, partitions, 3, 3)
        members.append(scene.kcat("g", "t"))
        scene.wait_shared(members, partitions, 2, 2, 2)
        self.assertEqual(scene.describe("g").protocol_data, "range")
        for member in members[:2]:
            self.assertEqual(member.leave(), 0)
        scene.wait_shared(members[2:], partitions, 6)
        self.read_once(members, feed.stop())

    def test_a_killed_member_is_missed_and_the_other_goes_on_where_it_had_committed(self):
        scene = self.scene
        partitions = scene.create_topic("t", 4)
        feed = scene.feed("t", 4)
        one, two = [scene.member("g", "t", session_timeout_ms=2000, commit_every=20, enable_auto_commit=False) for _ in range(2)]
        scene.wait_shared([one, two], partitions, 2, 2)
        scene.wait(lambda: all(member.assignment <= set(member.committed) for member in (one, two)), "both commit")
        owned = set(two.assignment)
        two.kill()
        scene.wait_shared([one], partitions, 4)
        scene.wait_read([one, two], feed.stop())
        died = max(record.at for record in two.records)
        for partition in owned:
            first = min(record.offset for record in one.records if record.partition == partition and record.at > died)
            self.assertGreaterEqual(first, two.committed[partition], "what was committed is not read again")

    def test_more_members_than_partitions_leave_some_idle_until_they_are_needed(self):
        scene = self.scene
        partitions = scene.create_topic("t", 2)
        scene.produce("t", 2, 200)
        members = [scene.member("g", "t") for _ in range(3)]
        scene.wait(lambda: all(member.rebalances() for member in members), "all are told their share")
        scene.wait_shared(members, partitions, 1, 1, 0)
        self.read_once(members, 200)
        busy = next(member for member in members if member.assignment)
        self.assertEqual(busy.leave(), 0)
        members.remove(busy)
        scene.wait_shared(members, partitions, 1, 1)

    def test_every_group_reads_all_and_a_new_one_from_the_beginning(self):
        scene = self.scene
        first, second = scene.create_topic("a", 3), scene.create_topic("b", 2)
        scene.produce("a", 3, 300)
        one = [scene.member("one", "a") for _ in range(2)]
        both = [scene.member("both", "a", "b") for _ in range(2)]
        scene.wait_shared(one, first)
        scene.wait_shared(both, first | second)
        self.read_once(one, 300)
        self.read_once(both, 300)
        late = scene.member("late", "a")
        self.read_once([late], 300)
        by_partition = {}
        for record in late.records:
            by_partition.setdefault(record.partition, []).append(record.offset)
        self.assertEqual(by_partition, {partition: list(range(100)) for partition in first})

    def test_a_group_notices_that_its_topic_has_grown(self):
        scene = self.scene
        partitions = scene.create_topic("t", 2)
        members = [scene.member("g", "t", topic_metadata_refresh_interval_ms=300, metadata_max_age_ms=600) for _ in range(2)]
        scene.wait_shared(members, partitions, 1, 1)
        scene.add_partitions("t", 6)
        scene.wait_shared(members, {f"t/{i}" for i in range(6)}, 3, 3)
        scene.produce("t", 6, 600)
        self.read_once(members, 600)


class FlowTest(unittest.TestCase):
    """A rebalance that is kept open: a member of our own does not come back to it."""

    def setUp(self):
        self.scene = Scene()
        self.addCleanup(self.scene.close)

    def hold_open(self, strategy):
        """A third member comes to two that read, and for a while the rebalance cannot end. How much the two have read meanwhile."""
        scene = self.scene
        partitions = scene.create_topic("t", 4)
        feed = scene.feed("t", 4)
        # A commit on the way while the generation changes makes a client give up all; so they commit only what they give up.
        config = {"partition_assignment_strategy": strategy, "auto_commit_interval_ms": 600_000}
        members = [scene.member("g", "t", **config) for _ in range(2)]
        scene.wait_shared(members, partitions, 2, 2)
        with Connection(scene.broker) as holder:
            holding = self.join_with_no_topics(holder, strategy)
            scene.wait_shared(members, partitions, 2, 2)
            scene.wait(lambda: all(member.records for member in members), "both read")
            owned, told = [set(member.assignment) for member in members], [len(member.events) for member in members]
            began = time.monotonic()
            scene.member("g", "t", **config)
            wait_until(lambda: scene.describe("g").group_state == "PreparingRebalance", "the rebalance begins", scene.broker)
            if strategy == "range":
                scene.wait(lambda: not any(member.assignment for member in members), "all give up what they have")
            before = [len(member.records) for member in members]
            sent = feed.acknowledged
            wait_until(lambda: feed.acknowledged > sent + 400, "records are sent", scene.broker)
            if strategy == "cooperative-sticky":
                scene.wait(lambda: all(len(member.records) > count + 150 for member, count in zip(members, before)), "both read on")
            self.assertEqual(scene.describe("g").group_state, "PreparingRebalance")
            arrived = sum(len(member.records) for member in members) - sum(before)
            holder.call("LeaveGroup", 3, group_id="g", members=[{"member_id": holding}])
        scene.wait_shared(scene.members, partitions, 2, 1, 1)
        scene.wait_read(scene.members, feed.stop())
        kept = [had & member.assignment for had, member in zip(owned, members)]
        gap = max(self.longest_gap(member, partition, began) for member, stay in zip(members, kept) for partition in stay)
        print(f"{strategy}: the two read {arrived} records during the rebalance; the longest silence of a partition that stays "
              f"was {gap * 1000:.0f} ms", file=sys.stderr)
        taken = [set().union(*(each for what, each in member.events[since:] if what != "assigned"))
                 for member, since in zip(members, told)]
        return arrived, kept, taken

    def join_with_no_topics(self, connection, strategy):
        metadata = plain("consumer_protocol_subscription", 1, {})
        request = {"group_id": "g", "session_timeout_ms": 60000, "rebalance_timeout_ms": 60000, "protocol_type": "consumer",
                   "protocols": [{"name": strategy, "metadata": metadata}]}
        member_id = connection.call("JoinGroup", 5, **request).member_id
        joined = connection.call("JoinGroup", 5, member_id=member_id, **request)
        self.assertEqual(joined.error_code, 0)
        synced = connection.call("SyncGroup", 3, group_id="g", member_id=member_id, generation_id=joined.generation_id)
        self.assertEqual(synced.error_code, 0)
        return member_id

    def longest_gap(self, member, partition, since):
        times = [record.at for record in member.records if record.partition == partition and record.at > since]
        return max(later - earlier for earlier, later in zip(times, times[1:]))

    def test_cooperative_members_read_on_during_a_rebalance(self):
        _, kept, taken = self.hold_open("cooperative-sticky")
        self.assertEqual(sum(map(len, kept)), 3)
        for each, revoked in zip(kept, taken):
            self.assertFalse(each & revoked, "what a member keeps is never taken from it")

    def test_eager_members_stop_during_a_rebalance(self):
        arrived, kept, taken = self.hold_open("range")
        self.assertEqual(arrived, 0)
        for each, revoked in zip(kept, taken):
            self.assertLessEqual(each, revoked)


if __name__ == "__main__":
    unittest.main()
