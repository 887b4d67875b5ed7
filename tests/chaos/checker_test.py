"""The checker finds each anomaly when it is planted, and nothing in a history that is fine."""

import math
import os
import tempfile
import unittest

from checker import check, summary
from history import Ack, Batch, Commit, GaveUp, History, Look, Record, load

PARTITION = "t/0"


def fine():
    """Two producers, two readers, a group; p:3 was never answered and is there, q:2 was never answered and is not, q:3 was refused."""
    history = History()
    log = ["p:0", "q:0", "p:1", "p:2", "q:1", "p:3"]
    for value in [*log, "q:2", "q:3"]:
        history.sent[value] = PARTITION
    history.refused = {"q:3"}
    history.acks = [Ack(PARTITION, offset, value) for offset, value in enumerate(log) if value != "p:3"]
    records = [Record(PARTITION, offset, value) for offset, value in enumerate(log)]
    history.readings = {"reader-follow": records[:4], "reader-last": list(records)}
    history.last_reader, history.ends = "reader-last", {PARTITION: len(log)}
    # Producer ids 8 and 9: p's first record alone, the others in batches.
    history.batches = {PARTITION: [Batch(0, 0, 8, 0, 0), Batch(1, 1, 9, 0, 0), Batch(2, 3, 8, 0, 1), Batch(4, 4, 9, 0, 1),
                                   Batch(5, 5, 8, 0, 3)]}
    history.deliveries = {"g": records[:3] + records[2:5]}
    history.commits = [Commit("g", PARTITION, 3), Commit("g", PARTITION, 5)]
    history.looks = [Look("watcher", "g", PARTITION, offset) for offset in (0, 3, 3, 5)]
    return history


def kinds(history):
    return {anomaly.kind for anomaly in check(history)}


class CheckerTest(unittest.TestCase):
    def setUp(self):
        self.history = fine()
        self.last = self.history.readings["reader-last"]

    def found(self, *expected):
        self.assertEqual(kinds(self.history), set(expected), "\n".join(summary(check(self.history))))

    def replace(self, *values):
        """What the last reader reads; nobody else has read anything."""
        self.history.readings = {"reader-last": [Record(PARTITION, offset, value) for offset, value in enumerate(values)]}
        self.history.ends = {PARTITION: len(values)}
        self.history.deliveries, self.history.looks, self.history.commits = {}, [], []

    def test_a_history_that_is_fine(self):
        self.found()

    def test_an_acknowledged_record_at_the_end_is_lost(self):
        self.history.acks.append(Ack(PARTITION, 6, "q:2"))
        self.found("lost")

    def test_a_record_is_acknowledged_without_its_offset(self):
        self.history.acks[2] = Ack(PARTITION, -1, "p:1")
        self.found()
        self.history.acks.append(Ack(PARTITION, -1, "q:2"))
        self.found("lost")

    def test_a_producer_begins_behind_its_first_record(self):
        self.history.batches[PARTITION][4] = Batch(5, 5, 7, 0, 1)
        self.found("sequence")

    def test_an_acknowledged_record_is_lost_and_another_is_in_its_place(self):
        self.history.acks.append(Ack(PARTITION, 5, "q:2"))
        self.found("lost", "conflict")

    def test_a_record_that_was_only_read_is_lost(self):
        self.history.sent["p:4"] = PARTITION
        self.history.readings["reader-follow"] = [*self.last, Record(PARTITION, 6, "p:4")]
        self.found("lost")

    def test_an_acknowledged_record_has_moved(self):
        self.history.acks[4] = Ack(PARTITION, 7, "q:1")
        self.found("moved", "doubled")

    def test_a_record_is_doubled(self):
        self.replace("p:0", "q:0", "p:1", "p:2", "q:1", "p:3", "p:1")
        self.found("doubled")

    def test_a_record_is_doubled_under_two_epochs_of_its_producer(self):
        self.replace("p:0", "q:0", "p:1", "p:2", "q:1", "p:3", "p:3")
        self.history.batches[PARTITION].append(Batch(6, 6, 8, 1, 0))
        self.found()

    def test_a_record_is_doubled_under_one_epoch(self):
        self.replace("p:0", "q:0", "p:1", "p:2", "q:1", "p:3", "p:3")
        self.history.batches[PARTITION].append(Batch(6, 6, 8, 0, 4))
        self.found("doubled")

    def test_a_record_is_doubled_and_nobody_knows_by_whom(self):
        self.replace("p:0", "q:0", "p:1", "p:2", "q:1", "p:3", "p:3")
        self.found("doubled")

    def test_a_sequence_number_is_repeated(self):
        self.history.batches[PARTITION][4] = Batch(5, 5, 8, 0, 2)
        self.found("sequence")

    def test_a_sequence_number_is_left_out(self):
        self.history.batches[PARTITION][4] = Batch(5, 5, 8, 0, 4)
        self.found("sequence")

    def test_an_epoch_does_not_begin_with_0(self):
        self.history.batches[PARTITION][4] = Batch(5, 5, 8, 1, 3)
        self.found("sequence")

    def test_an_unknown_record_is_doubled(self):
        self.replace("p:0", "q:0", "p:1", "p:2", "q:1", "p:3", "p:3")
        self.found("doubled")

    def test_a_retry_is_doubled_in_another_partition(self):
        self.last.append(Record("t/1", 0, "p:3"))
        self.found("doubled")

    def test_two_records_are_reordered(self):
        self.replace("p:0", "q:0", "p:2", "p:1", "q:1", "p:3")
        self.history.acks = []
        self.found("reordered")

    def test_a_record_without_a_report_must_not_be_late(self):
        self.replace("p:0", "p:3", "q:0", "p:1", "p:2", "q:1")
        self.history.acks = []
        self.found("reordered")

    def test_a_record_that_was_reported_as_unknown_may_be_late(self):
        self.replace("p:0", "q:0", "p:2", "p:1", "q:1", "p:3")
        self.history.acks, self.history.unknown = [], {"p:1"}
        self.found()

    def test_producers_are_ordered_among_themselves_only(self):
        self.replace("q:0", "q:1", "p:0", "p:1", "p:2", "p:3")
        self.history.acks = []
        self.found()

    def test_two_readers_see_two_values_at_one_offset(self):
        self.history.readings["reader-follow"][3] = Record(PARTITION, 3, "q:2")
        self.found("conflict", "lost")

    def test_a_member_sees_another_value_than_the_readers(self):
        self.history.deliveries["g"][0] = Record(PARTITION, 0, "q:0")
        self.found("conflict", "doubled")

    def test_a_reader_misses_an_offset(self):
        del self.history.readings["reader-follow"][1]
        self.found("gap")

    def test_a_reader_goes_back(self):
        self.history.readings["reader-follow"].append(self.last[2])
        self.found("gap")

    def test_the_last_reader_does_not_reach_the_end(self):
        self.history.ends = {PARTITION: 7}
        self.found("gap")

    def test_without_an_end_nothing_is_proved(self):
        self.history.ends = {}
        self.found("client")

    def test_a_record_that_nobody_sent(self):
        del self.history.sent["p:3"]
        self.found("phantom")

    def test_a_record_in_a_partition_that_it_was_not_sent_to(self):
        self.history.sent["p:3"] = "t/1"
        self.found("phantom")

    def test_a_refused_record_is_there(self):
        self.last.append(Record(PARTITION, 6, "q:3"))
        self.history.ends = {PARTITION: 7}
        self.found("phantom")

    def test_a_committed_offset_goes_back(self):
        self.history.looks.insert(2, Look("watcher", "g", PARTITION, 2))
        self.found("commit")

    def test_a_committed_offset_may_be_seen_later_by_another_observer(self):
        self.history.looks.append(Look("watcher-2", "g", PARTITION, 3))
        self.history.looks.append(Look("watcher-2", "g", PARTITION, 5))
        self.found()

    def test_a_committed_offset_is_beyond_the_end(self):
        self.history.looks.append(Look("watcher", "g", PARTITION, 7))
        self.found("commit", "skipped")

    def test_a_commit_that_a_member_was_told_of_is_lost(self):
        self.history.looks = self.history.looks[:3]
        self.found("commit")

    def test_a_commit_that_a_member_was_told_of_is_gone_altogether(self):
        self.history.looks = []
        self.found("commit")

    def test_a_group_skips_a_record(self):
        self.history.deliveries["g"] = [record for record in self.history.deliveries["g"] if record.offset != 3]
        self.found("skipped")

    def test_a_complaint_of_a_client(self):
        self.history.complaints.append("member-g-0 has ended")
        self.found("client")

    def test_a_client_gives_up_without_an_excuse(self):
        self.history.excuses = [(100.0, 110.0)]
        self.history.gave_up = [GaveUp(99.0, "too early")]
        self.found("client")
        self.history.gave_up = [GaveUp(121.0, "too late")]
        self.found("client")

    def test_a_client_gives_up_with_an_excuse(self):
        self.history.excuses = [(50.0, 60.0), (100.0, 110.0)]
        self.history.gave_up = [GaveUp(105.0, "meanwhile"), GaveUp(118.0, "a little later")]
        self.found()


class LoadTest(unittest.TestCase):
    def load(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                with open(os.path.join(folder, name.replace("_", "-") + ".out"), "w") as file:
                    file.write(text)
            return load(folder)

    def test_what_the_clients_print(self):
        history = self.load(
            producer_p="sent 1.0 t/0 p:0\nsent 1.1 t/0 p:1\nsent 1.2 t/0 p:2\nok 1.3 t/0 0 p:0\nunknown 1.4 t/0 p:1 timed out\n",
            reader_follow="read t/0 0 p:0\nread t/0 1 p:",
            reader_last="read t/0 0 p:0\nread t/0 1 p:2\nend t/0 2\n",
            member_range_0="assigned t/0\nrecord t/0 0 p:0\ncommitted t/0 1\nrevoked\n",
            watcher="seen range t/0 1\n")
        self.assertEqual(history.sent, {"p:0": "t/0", "p:1": "t/0", "p:2": "t/0"})
        self.assertEqual(history.acks, [Ack("t/0", 0, "p:0")])
        self.assertEqual(history.unknown, {"p:1"})
        self.assertEqual(history.readings["reader-follow"], [Record("t/0", 0, "p:0")], "a line that is cut off does not count")
        self.assertEqual((history.last_reader, history.ends), ("reader-last", {"t/0": 2}))
        self.assertEqual(history.deliveries, {"range": [Record("t/0", 0, "p:0")]})
        self.assertEqual(history.commits, [Commit("range", "t/0", 1)])
        self.assertEqual(history.looks, [Look("watcher", "range", "t/0", 1)])
        self.assertEqual(check(history), [])

    def test_what_must_not_happen_to_a_client(self):
        history = self.load(producer_p="fatal 1.0 out of order\n", reader_follow="reset 2.0 t/0 out of range\n",
                            member_g_1="reset 3.0 t/0 out of range\nerror fenced\n", watcher="blind g\n")
        self.assertEqual(sorted(each.time for each in history.gave_up), [1.0, 2.0, 3.0])
        self.assertEqual(len(history.complaints), 2)

    def test_who_wrote_what(self):
        history = self.load(batches="batch t/0 0 4 8 0 0\nbatch t/0 5 5 8 1 0\nunreadable t/1\n")
        self.assertEqual(history.batches, {"t/0": [Batch(0, 4, 8, 0, 0), Batch(5, 5, 8, 1, 0)]})
        self.assertEqual(len(history.complaints), 1)

    def test_when_clients_are_excused(self):
        history = self.load(nemesis="excused 1.5\nwhole 2.5\nexcused 8.0\n")
        self.assertEqual(history.excuses, [(1.5, 2.5), (8.0, math.inf)])


if __name__ == "__main__":
    unittest.main()
