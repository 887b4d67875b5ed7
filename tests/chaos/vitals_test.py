import os
import unittest

import vitals
from vitals import Sample


def samples(memory=lambda t: 20_000_000, descriptors=lambda t: 50, threads=lambda t: 5):
    return [Sample(t, memory(t), descriptors(t), threads(t)) for t in range(100)]


class Vitals(unittest.TestCase):
    def kinds(self, taken):
        return [anomaly.text.split(": ")[1].split(" grew")[0] for anomaly in vitals.check("broker1", taken)]

    def test_what_stays_is_fine(self):
        self.assertEqual(self.kinds(samples()), [])

    def test_what_grows_during_the_warm_up_is_fine(self):
        self.assertEqual(self.kinds(samples(memory=lambda t: 20_000_000 if t >= 10 else 1_000_000 * t)), [])

    def test_memory_that_grows_slowly_is_found(self):
        self.assertEqual(self.kinds(samples(memory=lambda t: 20_000_000 + 12_000 * t)), ["resident memory"])

    def test_memory_within_the_allowance_is_fine(self):
        self.assertEqual(self.kinds(samples(memory=lambda t: 20_000_000 + 6_000 * t)), [])

    def test_connections_that_come_and_go_are_fine(self):
        self.assertEqual(self.kinds(samples(descriptors=lambda t: 50 + t % 7 + (t > 60) * (t % 2))), [])

    def test_one_descriptor_that_is_not_closed_is_found(self):
        self.assertEqual(self.kinds(samples(descriptors=lambda t: 50 + t % 7 + (t > 50))), ["descriptors"])

    def test_one_thread_more_is_found(self):
        self.assertEqual(self.kinds(samples(threads=lambda t: 5 + (t > 50))), ["threads"])

    def test_a_run_without_samples_is_not_fine(self):
        self.assertEqual(len(list(vitals.check("broker1", samples()[:1]))), 1)

    def test_this_process_has_vitals(self):
        sample = vitals.look_at(os.getpid(), 0.0)
        self.assertGreater(sample.memory, 1_000_000)
        self.assertGreaterEqual(sample.descriptors, 3)
        self.assertGreaterEqual(sample.threads, 1)


if __name__ == "__main__":
    unittest.main()
