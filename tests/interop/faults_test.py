"""What decides in the scenarios with faults: the schedule, and the checkers."""

import random
import unittest

import connect_scenario
import copy_scenario
import faults
import flink_scenario
import quix_scenario


class SpreadTest(unittest.TestCase):
    def test_actions_stay_in_order_and_inside_the_run(self):
        for seed in range(20):
            events = faults.spread(1000, list("abcd"), random.Random(seed))
            self.assertEqual([action for _, action in events], list("abcd"))
            places = [place for place, _ in events]
            self.assertEqual(places, sorted(places))
            self.assertTrue(all(0 < place < 1000 for place in places), places)


class CheckerTest(unittest.TestCase):
    def refused(self, why, check, *arguments):
        with self.assertRaisesRegex(RuntimeError, why):
            check(*arguments)

    def test_each_number_once(self):
        faults.check_once("it", [2, 0, 1], range(3))
        self.refused("1 are lost, the first is 1", faults.check_once, "it", [2, 0], range(3))
        self.refused("1 are doubled", faults.check_once, "it", [2, 0, 1, 1], range(3))
        self.refused("do not belong there, the first is 7", faults.check_once, "it", [2, 0, 1, 7], range(3))

    def test_in_order(self):
        faults.check_ascending("it", [1, 5, 6])
        self.refused("5 stands behind 6", faults.check_ascending, "it", [1, 6, 5])

    def test_files_of_connect_may_be_mixed_but_not_turned(self):
        lines = connect_scenario.LINES
        values = {0: [str(number) for pair in zip(range(lines), range(lines, 2 * lines)) for number in pair], 1: [], 2: []}
        connect_scenario.check_numbers("it", values)
        values[0][0], values[0][2] = values[0][2], values[0][0]
        self.refused("0 stands behind 1", connect_scenario.check_numbers, "it", values)

    def test_copies_of_flink_keep_the_order_of_each_source(self):
        parts = flink_scenario.PARTITIONS
        values = {i: [str(n) for n in range(flink_scenario.RECORDS) if n // parts % parts == i] for i in range(parts)}
        flink_scenario.check_numbers("it", values)
        values[1].append(values[1].pop(0))
        self.refused("stands behind", flink_scenario.check_numbers, "it", values)

    def test_counts_go_up_by_one(self):
        right = [f"k{n % quix_scenario.KEYS} {n // quix_scenario.KEYS + 1}" for n in range(quix_scenario.RECORDS)]
        quix_scenario.check_counts("it", right)
        self.refused("are counted", quix_scenario.check_counts, "it", right[:-1])
        self.refused("k0 is 1 where 2 belongs", quix_scenario.check_counts, "it", [right[0], *right])

    def test_a_torn_transaction_is_seen(self):
        parts, total = copy_scenario.PARTITIONS, copy_scenario.RECORDS
        values = {i: [f"{n} t{n // 10} 10" for n in range(total) if n // parts % parts == i] for i in range(parts)}
        copy_scenario.check_copies("it", values)
        self.refused("torn", copy_scenario.check_copies, "it",
                     {i: [value.replace("t0 10", "t0 11") for value in part] for i, part in values.items()})


if __name__ == "__main__":
    unittest.main()
