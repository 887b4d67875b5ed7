"""`naru group ...` with stock consumers: what it says of members that read, pause, die and are too many."""

import json
import os
import signal
import subprocess
import time
import unittest

from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_messages import Connection
from naru_command import NaruCommand
from naru_process import NARU, PATIENCE_S, Broker, wait_until

GROUP_FIELDS = {"name", "type", "state", "state_since", "coordinator", "protocol_type", "protocol", "lag", "lag_seconds",
                "members", "partitions"}
CONSUMER_GROUP_FIELDS = GROUP_FIELDS | {"epoch", "assignment_epoch"}


class ConsumerProtocolMember:
    """A member that speaks the consumer protocol by hand, so that a test decides when it hears and when it gives up partitions."""

    def __init__(self, broker, group, topic, member_id):
        self.connection = Connection(broker, client_id=f"client-of-{member_id}")
        self.group, self.topic, self.id = group, topic, member_id
        self.epoch, self.owned = 0, []

    def close(self):
        self.connection.sock.close()

    def heartbeat(self):
        """Answers what the member is to have, or None; it goes on owning what it has."""
        answer = self.connection.call(
            "ConsumerGroupHeartbeat", 1, group_id=self.group, member_id=self.id, member_epoch=self.epoch,
            rebalance_timeout_ms=60000, subscribed_topic_names=[self.topic],
            topic_partitions=[vars(topic) for topic in self.owned])
        if answer.error_code != 0:
            raise RuntimeError(f"{self.id}: error {answer.error_code}: {answer.error_message}")
        self.epoch = answer.member_epoch
        return answer.assignment.topic_partitions if answer.assignment else None

    def obey(self):
        told = self.heartbeat()
        self.owned = self.owned if told is None else told


class GroupCliTest(NaruCommand, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker("--set", "group.initial.rebalance.delay.ms=0")
        cls.addClassCleanup(cls.broker.close)
        cls.address = cls.broker.address

    def describe(self, group):
        return self.json("group", "describe", group)

    def why(self, group, watch="500ms"):
        return self.json("group", "why", group, "--watch", watch)

    def topic(self, name, partitions, records=0):
        self.naru("topic", "create", name, "--partitions", str(partitions))
        for partition in range(partitions):
            if records:
                self.naru("produce", name, "--partition", str(partition), "--count", str(records))

    def start_consumer(self, group, topic, *settings):
        """kcat as a member of the group, in a process of its own that can be paused and killed."""
        command = ["kcat", "-b", self.broker.address, "-q", "-X", "auto.offset.reset=earliest"]
        for setting in settings:
            command += ["-X", setting]
        process = subprocess.Popen([*command, "-G", group, topic], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait, PATIENCE_S)
        self.addCleanup(process.kill)
        return process

    def is_stable(self, group, members):
        done = self.run_naru("group", "describe", group, "--json")
        if done.returncode != 0:
            return False
        described = json.loads(done.stdout)
        return described["state"] == "Stable" and len(described["members"]) == members

    def wait_for_members(self, group, count):
        wait_until(lambda: self.is_stable(group, count), f"{count} members of {group}", self.broker)

    def wait_until_read(self, group):
        """By one member, with an offset committed at the end of each of its partitions."""
        self.wait_for_members(group, 1)
        wait_until(lambda: all(partition["lag"] == 0 for partition in self.describe(group)["partitions"]),
                   f"{group} reads everything", self.broker)
        self.assertEqual(self.why(group)["reason"], "caught_up")

    def wait_for_reason(self, group, reason):
        wait_until(lambda: self.why(group)["reason"] == reason, f"{group}: {reason}", self.broker)

    # ---- looking

    def test_members_offsets_and_lag(self):
        self.topic("looked-at", 2, records=10)
        self.start_consumer("looking", "looked-at", "client.id=reader", "group.instance.id=one")
        self.wait_until_read("looking")
        described = self.describe("looking")
        self.assertEqual(set(described), GROUP_FIELDS)
        self.assertEqual((described["state"], described["protocol_type"], described["lag"], described["lag_seconds"]),
                         ("Stable", "consumer", 0, 0))
        self.assertAlmostEqual(described["state_since"] / 1000, time.time(), delta=PATIENCE_S)
        (member,) = described["members"]
        self.assertEqual((member["client_id"], member["instance_id"], member["host"], member["topics"]),
                         ("reader", "one", "127.0.0.1", ["looked-at"]))
        self.assertEqual([partition["partition"] for partition in member["partitions"]], [0, 1])
        self.assertEqual([(p["committed_offset"], p["start_offset"], p["end_offset"], p["lag"], p["member"])
                          for p in described["partitions"]], [(10, 0, 10, 0, member["id"])] * 2)
        (listed,) = [group for group in self.json("group", "list") if group["name"] == "looking"]
        self.assertEqual((listed["type"], listed["state"], listed["members"], listed["lag"]), ("classic", "Stable", 1, 0))
        self.assertNotIn("looking", [group["name"] for group in self.json("group", "list", "--state", "empty")])
        text = self.naru("group", "describe", "looking")
        self.assertIn(f"coordinated by broker 1 ({self.broker.address})", text)
        self.assertIn("looked-at 0,1", text)

    def test_seconds_are_the_age_of_the_oldest_unread_record(self):
        self.topic("aged", 1)
        now = time.time()
        producer = Producer({"bootstrap.servers": self.broker.address, "compression.type": "zstd"})
        for age in (5000, 1000, 300):
            producer.produce("aged", b"x", partition=0, timestamp=int((now - age) * 1000))
        producer.flush(PATIENCE_S)
        consumer = Consumer({"bootstrap.servers": self.broker.address, "group.id": "slow", "enable.auto.commit": False})
        self.addCleanup(consumer.close)
        consumer.commit(offsets=[TopicPartition("aged", 0, 1)], asynchronous=False)
        described = self.describe("slow")
        self.assertEqual(described["lag"], 2)
        self.assertGreaterEqual(described["lag_seconds"], 1000)
        self.assertLess(described["lag_seconds"], 5000)
        self.assertEqual(self.why("slow")["reason"], "no_members")

    # ---- why

    def test_a_paused_member_holds_up_a_rebalance(self):
        self.topic("pausing", 2)
        paused = self.start_consumer("paused", "pausing", "client.id=sleeper", "session.timeout.ms=60000")
        self.wait_for_members("paused", 1)
        paused.send_signal(signal.SIGSTOP)
        self.start_consumer("paused", "pausing", "client.id=newcomer")
        self.wait_for_reason("paused", "rebalancing")
        wait_until(lambda: "waiting for member" in self.why("paused")["sentence"], "who is waited for", self.broker)
        self.assertRegex(self.why("paused")["sentence"],
                         r"^group paused has been rebalancing for \S+ s \(since \S+\), waiting for member \S+ "
                         r"\(client sleeper, host 127\.0\.0\.1\) to join again$")
        paused.send_signal(signal.SIGCONT)
        self.wait_for_members("paused", 2)

    def test_a_killed_member_stops_moving_and_is_gone_after_its_session(self):
        self.topic("killing", 1, records=5)
        member = self.start_consumer("killed", "killing", "session.timeout.ms=10000")
        self.wait_until_read("killed")
        member.kill()
        member.wait(PATIENCE_S)
        self.naru("produce", "killing", "--count", "7")
        stuck = self.why("killed")
        self.assertEqual(stuck["reason"], "not_moving")
        self.assertIn("behind by 7 records", stuck["sentence"])
        self.assertIn("killing-0: 7 records behind, read by ", stuck["evidence"][0])
        self.wait_for_reason("killed", "no_members")
        self.assertRegex(self.naru("group", "why", "killed"), r"^group killed has had no members for .* \(since .*Z\); "
                                                              r"it is behind by 7 records")

    def test_a_group_that_moves(self):
        self.topic("flowing", 1)
        member = self.start_consumer("flow", "flowing")
        self.wait_for_members("flow", 1)
        producing = subprocess.Popen([NARU, "produce", "flowing", "--count", "1000000", "--rate", "2000", "--bootstrap",
                                      self.broker.address], stdout=subprocess.DEVNULL)
        self.addCleanup(producing.wait, PATIENCE_S)
        self.addCleanup(producing.kill)
        wait_until(lambda: self.why("flow", "10s")["reason"] == "moving", "flow moves", self.broker)
        self.assertIsNone(member.poll())

    def test_more_members_than_partitions(self):
        self.topic("narrow", 1, records=1)
        for _ in range(2):
            self.start_consumer("crowd", "narrow")
        self.wait_for_members("crowd", 2)
        self.wait_for_reason("crowd", "caught_up")
        self.assertIn("1 of 2 members has no partition: there are more members than partitions",
                      self.why("crowd")["evidence"])

    def test_a_group_of_the_consumer_protocol(self):
        self.topic("modern", 2, records=3)
        self.assertIn("no such group", self.refused("group", "describe", "new"))  # which waits for a coordinator
        first, second = (ConsumerProtocolMember(self.broker, "new", "modern", each) for each in ("first", "second"))
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        first.obey()
        first.obey()
        described = self.describe("new")
        self.assertEqual(set(described), CONSUMER_GROUP_FIELDS)
        self.assertEqual((described["type"], described["state"], described["protocol"]), ("consumer", "Stable", "uniform"))
        (member,) = described["members"]
        self.assertEqual((member["id"], member["client_id"], member["host"], member["topics"], member["epoch"]),
                         ("first", "client-of-first", "127.0.0.1", ["modern"], described["epoch"]))
        both = [{"topic": "modern", "partition": partition} for partition in (0, 1)]
        self.assertEqual((member["partitions"], member["target_partitions"]), (both, both))
        (listed,) = [group for group in self.json("group", "list") if group["name"] == "new"]
        self.assertEqual((listed["type"], listed["state"], listed["members"]), ("consumer", "Stable", 1))

        second.obey()
        holds_on = (r"^group new has been rebalancing for .* \(since .*\), waiting for member first "
                    r"\(client client-of-first, host 127\.0\.0\.1\) to give up modern [01]$")
        self.assertRegex(self.why("new")["sentence"], holds_on)  # and has not heard of it
        kept = first.heartbeat()
        self.assertRegex(self.why("new")["sentence"], holds_on)  # and has
        self.assertRegex(self.why("new")["evidence"][0], r"^second \(.*\) waits for modern [01]$")
        first.owned = kept
        first.obey()
        second.obey()
        second.obey()
        self.assertEqual([len(member["partitions"]) for member in self.describe("new")["members"]], [1, 1])
        self.assertEqual(self.why("new")["reason"], "no_offsets")
        self.assertIn("first (client client-of-first", self.refused("group", "reset", "new", "--topic", "modern", "--to", "latest"))

    # ---- changing

    def test_resets_and_deletion(self):
        self.topic("reset", 2, records=4)
        member = self.start_consumer("resetting", "reset")
        self.wait_until_read("resetting")
        refusal = self.refused("group", "reset", "resetting", "--topic", "reset", "--to", "earliest")
        self.assertIn("(client rdkafka, host 127.0.0.1)", refusal)
        self.assertIn("Stop the group's members first", refusal)
        self.assertIn("NON_EMPTY_GROUP", self.refused("group", "delete", "resetting"))
        member.terminate()
        member.wait(PATIENCE_S)
        self.wait_for_reason("resetting", "no_members")

        dry = self.json("group", "reset", "resetting", "--topic", "reset", "--to", "offset", "9", "--dry-run")
        self.assertEqual([(p["old_offset"], p["new_offset"], p["note"]) for p in dry["partitions"]],
                         [(4, 4, "9 is beyond the end")] * 2)
        self.json("group", "reset", "resetting", "--topic", "reset", "--to", "time", "-1h", "--partition", "1")
        self.assertEqual([p["committed_offset"] for p in self.describe("resetting")["partitions"]], [4, 0])
        consumer = Consumer({"bootstrap.servers": self.broker.address, "group.id": "resetting"})
        consumer.subscribe(["reset"])
        records = []
        deadline = time.monotonic() + PATIENCE_S
        while len(records) < 4 and time.monotonic() < deadline:
            records += consumer.consume(4, 0.5)
        self.assertEqual([(record.partition(), record.offset()) for record in records], [(1, i) for i in range(4)])
        consumer.close()
        self.wait_for_reason("resetting", "no_members")
        self.assertEqual(self.json("group", "delete", "resetting"), {"deleted": ["resetting"]})
        self.assertIn("no such group", self.refused("group", "describe", "resetting"))

    def test_after_a_crash_of_the_broker(self):
        broker = Broker()
        self.addCleanup(broker.close)
        environment = {**os.environ, "NARU_BOOTSTRAP": broker.address}

        def naru(*words):
            return subprocess.run([NARU, *words], env=environment, check=True, capture_output=True, text=True,
                                  timeout=PATIENCE_S).stdout

        naru("topic", "create", "t", "--partitions", "1")
        naru("produce", "t", "--count", "3")
        naru("group", "reset", "g", "--topic", "t", "--to", "offset", "1")
        broker.kill()
        broker.start()
        self.assertIn("behind by 2 records", naru("group", "why", "g"))
        (listed,) = json.loads(naru("group", "list", "--json"))
        self.assertEqual((listed["name"], listed["state"], listed["lag"]), ("g", "Empty", 2))


if __name__ == "__main__":
    unittest.main()
