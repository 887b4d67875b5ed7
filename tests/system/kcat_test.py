"""kcat (librdkafka) as a person would use it."""

import os
import time
import unittest

from naru_process import Broker, kcat


class KcatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()

    @classmethod
    def tearDownClass(cls):
        cls.broker.close()

    def test_every_codec_comes_back_as_it_went(self):
        lines = b"".join(b"%d %s\n" % (i, b"x" * (i % 50)) for i in range(2000))
        for codec in ["none", "gzip", "snappy", "lz4", "zstd"]:
            topic = f"codec-{codec}"
            kcat(self.broker, "-P", "-t", topic, "-p", "0", "-z", codec, stdin=lines)
            self.assertEqual(kcat(self.broker, "-C", "-t", topic, "-p", "0", "-e"), lines, codec)

    def test_compressed_batches_are_stored_as_they_came(self):
        # Not lz4: librdkafka 2.0 sends it only to brokers that also offer FindCoordinator.
        for codec in ["gzip", "snappy", "zstd"]:
            topic = f"squeezed-{codec}"
            kcat(self.broker, "-P", "-t", topic, "-p", "0", "-z", codec, "-X", "linger.ms=200", stdin=b"same\n" * 20000)
            size = os.path.getsize(f"{self.broker.data}/{topic}-0/00000000000000000000.log")
            self.assertLess(size, 150000, f"{codec}: 20,000 records take 220 KB without compression")

    def test_headers_keys_and_timestamps(self):
        before = int(time.time() * 1000)
        kcat(self.broker, "-P", "-t", "dressed", "-p", "0", "-k", "the key", "-H", "color=green", "-H", "empty=",
             stdin=b"the value")
        shown = kcat(self.broker, "-C", "-t", "dressed", "-p", "0", "-e", "-f", "%k|%s|%h|%o|%T\n").decode().strip()
        key, value, headers, offset, timestamp = shown.split("|")
        self.assertEqual((key, value, headers, offset), ("the key", "the value", "color=green,empty=", "0"))
        self.assertTrue(before <= int(timestamp) <= int(time.time() * 1000), timestamp)

    def test_null_and_empty_keys_and_values_stay_different(self):
        # -Z: an empty field is null. %K and %S are the lengths, -1 for null.
        kcat(self.broker, "-P", "-t", "nothing", "-p", "0", "-K", ":", "-Z", stdin=b":only value\nonly key:\n:\n")
        kcat(self.broker, "-P", "-t", "nothing", "-p", "0", "-K", ":", stdin=b":only value\nonly key:\n:\n")
        lengths = kcat(self.broker, "-C", "-t", "nothing", "-p", "0", "-e", "-f", "%K %S\n").decode().split("\n")[:-1]
        self.assertEqual(lengths, ["-1 10", "8 -1", "-1 -1", "0 10", "8 0", "0 0"])

    def test_metadata_lists_broker_and_topic(self):
        kcat(self.broker, "-P", "-t", "listed", stdin=b"x\n")
        listing = kcat(self.broker, "-L").decode()
        self.assertIn(f"broker 1 at {self.broker.address} (controller)", listing)
        self.assertIn('topic "listed" with 4 partitions:', listing)

    def test_a_name_that_is_not_allowed_fails_at_once(self):
        began = time.monotonic()
        with self.assertRaises(RuntimeError):
            kcat(self.broker, "-P", "-t", "not/allowed", stdin=b"x\n")
        self.assertLess(time.monotonic() - began, 20)

    def test_offsets_by_time(self):
        kcat(self.broker, "-P", "-t", "timed", "-p", "0", stdin=b"first\n")
        time.sleep(0.05)
        between = int(time.time() * 1000)
        time.sleep(0.05)
        kcat(self.broker, "-P", "-t", "timed", "-p", "0", stdin=b"second\n")
        self.assertEqual(kcat(self.broker, "-Q", "-t", f"timed:0:{between}").decode().strip(), "timed [0] offset 1")
        self.assertEqual(kcat(self.broker, "-Q", "-t", "timed:0:1").decode().strip(), "timed [0] offset 0")


if __name__ == "__main__":
    unittest.main()
