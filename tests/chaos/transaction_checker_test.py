"""The checker finds each anomaly of transactions when it is planted, and nothing in a history that is fine."""

import os
import tempfile
import unittest

import checker
from history import Batch, History, Record, Transaction, load
from transaction_checker import CHECKS

A, B = "transacted/0", "transacted/1"
COPY_A, COPY_B = "copied/0", "copied/1"


def fine():
    """Writer 0 with two processes, writer 1 with one. Of 0.1, transaction 1 is aborted, 2 was never answered and is there; of 1.1, 1 was
    never answered and is not. Markers are at the offsets that are left out."""
    history = History()

    def transaction(writer, number, outcome):
        history.transactions[writer, number] = Transaction({f"{writer}:{number}:0": A, f"{writer}:{number}:1": B}, outcome)

    for writer, number, outcome in [("0.1", 0, "committed"), ("0.1", 1, "aborted"), ("0.1", 2, ""), ("0.2", 0, "committed"),
                                    ("1.1", 0, "committed"), ("1.1", 1, "")]:
        transaction(writer, number, outcome)
    visible = [("0.1", 0), ("1.1", 0), ("0.1", 2), ("0.2", 0)]
    records = []
    for index, (source, copy) in enumerate([(A, COPY_A), (B, COPY_B)]):
        for partition in (source, copy):
            records += [Record(partition, 2 * place, f"{writer}:{number}:{index}") for place, (writer, number) in enumerate(visible)]
    history.committed = {"committed-follow": [record for record in records if record.offset < 4], "committed-last": records}
    history.last_committed = "committed-last"
    history.committed_ends = {partition: 8 for partition in (A, B, COPY_A, COPY_B)}
    return history


class TransactionCheckerTest(unittest.TestCase):
    def setUp(self):
        self.history = fine()
        self.last = self.history.committed["committed-last"]

    def found(self, *expected):
        anomalies = [anomaly for each in CHECKS for anomaly in each(self.history)]
        self.assertEqual({anomaly.kind for anomaly in anomalies}, set(expected), "\n".join(checker.summary(anomalies)))

    def place(self, value, topic="transacted"):
        return next(place for place, record in enumerate(self.last) if record.value == value and record.partition.startswith(topic))

    def remove(self, value):
        """From all readings, and the copy."""
        for records in self.history.committed.values():
            records[:] = [record for record in records if record.value != value]

    def append(self, number, value):
        """To source and copy, as seen by the last reader."""
        for topic in ("transacted", "copied"):
            self.last.append(Record(f"{topic}/{number}", 100, value))

    def test_all_is_fine(self):
        self.found()

    def test_an_empty_history_is_fine(self):
        self.history = History()
        self.found()

    def test_a_record_of_a_committed_transaction_is_lost(self):
        self.remove("1.1:0:1")
        self.found("lost")

    def test_a_committed_transaction_is_lost(self):
        self.remove("1.1:0:0")
        self.remove("1.1:0:1")
        self.found("lost")

    def test_a_record_of_an_aborted_transaction_can_be_read(self):
        self.history.transactions["1.1", 0].outcome = "aborted"
        self.found("aborted")

    def test_a_part_of_an_aborted_transaction_can_be_read(self):
        self.history.transactions["1.1", 0].outcome = "aborted"
        self.remove("1.1:0:0")
        self.found("aborted")

    def test_a_transaction_that_was_not_answered_is_torn(self):
        self.remove("0.1:2:0")
        self.found("torn")

    def test_a_transaction_that_was_not_answered_may_be_gone(self):
        self.remove("0.1:2:0")
        self.remove("0.1:2:1")
        self.found()

    def test_a_record_is_doubled(self):
        self.append(0, "0.2:0:0")
        self.found("doubled")

    def test_a_record_is_in_a_partition_that_it_was_not_written_to(self):
        self.append(1, "0.2:0:0")
        self.found("phantom")

    def test_a_record_that_nobody_wrote(self):
        self.append(0, "nothing-known")
        self.found("phantom")

    def test_transactions_of_a_writer_are_reordered(self):
        self.append(0, "1.1:1:0")
        self.append(1, "1.1:1:1")
        self.found()
        self.history.transactions["1.1", -1] = Transaction({"1.1:-1:0": A}, "committed")
        self.append(0, "1.1:-1:0")
        self.found("reordered")

    def test_a_writer_that_was_replaced_writes_behind_its_successor(self):
        self.history.transactions["0.1", 3] = Transaction({"0.1:3:0": A})
        self.append(0, "0.1:3:0")
        self.found("reordered")

    def test_a_reader_that_looked_on_has_missed_a_record(self):
        del self.history.committed["committed-follow"][0]
        self.found("conflict")

    def test_a_reader_that_looked_on_has_seen_what_was_aborted_later(self):
        self.history.committed["committed-follow"].append(Record(B, 5, "0.1:1:1"))
        self.found("conflict")

    def test_a_reader_that_looked_on_has_seen_more_than_there_is(self):
        self.history.committed["committed-follow"] = self.last + [Record(B, 9, "1.1:1:1")]
        self.found("conflict")

    def test_a_copy_is_missing(self):
        del self.last[self.place("0.2:0:1", "copied")]
        self.found("copy")

    def test_a_record_is_copied_twice(self):
        self.last.append(Record(COPY_B, 10, "0.2:0:1"))
        self.found("copy")

    def test_an_aborted_record_is_copied(self):
        self.last.append(Record(COPY_B, 10, "0.1:1:1"))
        self.found("copy")

    def test_copies_are_out_of_order(self):
        places = self.place("0.1:2:1", "copied"), self.place("0.2:0:1", "copied")
        first, second = (self.last[place] for place in places)
        self.last[places[0]], self.last[places[1]] = first._replace(value=second.value), second._replace(value=first.value)
        self.found("copy")

    def test_without_an_end_nothing_is_proved(self):
        self.history.committed_ends = {}
        self.found("client")


class LoadTest(unittest.TestCase):
    def test_what_the_clients_print(self):
        files = {"writer-0.1": "begun 1.0 0 transacted/0 0.1:0:0 transacted/1 0.1:0:1\ncommitted 1.1 0\n"
                               "begun 1.2 1 transacted/0 0.1:1:0\naborted 1.3 1\nbegun 1.4 2 transacted/0 0.1:2:0\nfatal 1.5 fenced\n",
                 "copier-0.1": "copied 1.0 2\ndropped 1.1 unknown member\nfatal 1.6 fenced\nreset 1.8 transacted/0 out of range\n",
                 "committed-follow": "read transacted/0 0 0.1:0:0\neof transacted/0 2\nreset 1.7 transacted/0 out of range\n",
                 "committed-last": "read transacted/0 0 0.1:0:0\neof transacted/0 2\nend transacted/0 2\n",
                 "batches": "batch transacted/0 0 0 7 0 0 0\nbatch transacted/0 1 1 7 0 -1 1\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                with open(os.path.join(folder, name + ".out"), "w") as file:
                    file.write(text)
            history = load(folder)
        self.assertEqual(history.transactions, {("0.1", 0): Transaction({"0.1:0:0": A, "0.1:0:1": B}, "committed"),
                                                ("0.1", 1): Transaction({"0.1:1:0": A}, "aborted"),
                                                ("0.1", 2): Transaction({"0.1:2:0": A}, "")})
        self.assertEqual(history.committed, {"committed-follow": [Record(A, 0, "0.1:0:0")], "committed-last": [Record(A, 0, "0.1:0:0")]})
        self.assertEqual((history.last_committed, history.committed_ends), ("committed-last", {A: 2}))
        self.assertEqual(sorted(each.time for each in history.gave_up), [1.5, 1.6, 1.7, 1.8])
        self.assertEqual(history.batches, {A: [Batch(0, 0, 7, 0, 0), Batch(1, 1, 7, 0, -1, 1)]})
        self.assertEqual(list(checker.check_sequences(history)), [])


if __name__ == "__main__":
    unittest.main()
