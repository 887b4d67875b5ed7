"""The schedule of a seed is always the same, and leaves no kind of fault out."""

import unittest

from nemesis import FAULTS, schedule

EVERYTHING = {"brokers", "store", "disk"}


class ScheduleTest(unittest.TestCase):
    def test_a_seed_gives_the_same_schedule_again(self):
        self.assertEqual(schedule(7, 40, EVERYTHING, 60), schedule(7, 40, EVERYTHING, 60))
        self.assertNotEqual(schedule(7, 40, EVERYTHING, 60), schedule(8, 40, EVERYTHING, 60))

    def test_every_kind_comes_in_the_cycles_of_one_store(self):
        for seed in range(50):
            self.assertEqual({step.kind for step in schedule(seed, 20, EVERYTHING, 60)}, set(FAULTS))

    def test_only_what_is_possible_comes(self):
        self.assertEqual({step.kind for step in schedule(1, 40, set(), 60)}, {"kill", "restart", "pause"})
        self.assertNotIn("full disk", {step.kind for step in schedule(1, 40, EVERYTHING - {"disk"}, 60)})

    def test_one_outage_is_long(self):
        outages = [step.seconds for step in schedule(1, 80, EVERYTHING, 60) if step.kind == "store down"]
        self.assertEqual(outages, [60] + [15] * (len(outages) - 1))
        self.assertGreater(len(outages), 2)

    def test_the_frequent_kinds_hit_every_kind_of_target(self):
        for seed in range(50):
            steps = schedule(seed, 45, EVERYTHING, 60)
            self.assertEqual({step.target for step in steps if step.kind == "kill"}, {"controller", "leader", "any"})


if __name__ == "__main__":
    unittest.main()
