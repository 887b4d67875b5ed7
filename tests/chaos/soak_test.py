import unittest

from soak import check_stream, check_table


class Table(unittest.TestCase):
    def kinds(self, puts, rows, is_complete=True):
        return [anomaly.kind for anomaly in check_table(puts, rows, is_complete)]

    def test_the_last_value_of_each_key_is_there(self):
        self.assertEqual(self.kinds({"a": "v1", "b": "-"}, {"a": "v1"}), [])

    def test_a_tombstone_may_still_be_there(self):
        self.assertEqual(self.kinds({"b": "-"}, {"b": "-"}), [])

    def test_a_lost_value_is_found(self):
        self.assertEqual(self.kinds({"a": "v1"}, {}), ["lost"])

    def test_an_older_value_is_found(self):
        self.assertEqual(self.kinds({"a": "v2"}, {"a": "v1"}), ["lost"])

    def test_a_deleted_key_that_returns_is_found(self):
        self.assertEqual(self.kinds({"a": "-"}, {"a": "v1"}), ["returned"])

    def test_a_reading_that_was_cut_off_is_found(self):
        self.assertEqual(self.kinds({}, {}, is_complete=False), ["client"])


class Stream(unittest.TestCase):
    def kinds(self, *ranges):
        return [anomaly.kind for anomaly in check_stream(ranges)]

    def test_members_may_read_one_after_the_other_and_twice(self):
        self.assertEqual(self.kinds((1, 8, 90), (0, 0, 5), (1, 0, 7), (0, 3, 10)), [])

    def test_a_number_that_no_member_has_read_is_found(self):
        self.assertEqual(self.kinds((0, 0, 7), (0, 9, 20)), ["gap"])

    def test_a_first_number_that_is_missing_is_found(self):
        self.assertEqual(self.kinds((0, 0, 7), (1, 1, 20)), ["gap"])

    def test_a_stream_that_nobody_reads_is_found(self):
        self.assertEqual(self.kinds(), ["client"])


if __name__ == "__main__":
    unittest.main()
