"""What a machine can do to a broker: a full disk, no file descriptors, a disk that fails. Nothing exits, what was
acknowledged stays, and work goes on when the machine is well again."""

import errno
import os
import resource
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest

from naru_process import PATIENCE_S, Broker, frame, kcat, wait_until
from raw_client import RawClient, batch
from small_disk import SmallDisk

STORAGE_ERROR = 56
FIND_COORDINATOR = 10
LARGE = batch([b"x" * 900_000])


class DiskFullTest(unittest.TestCase):
    def test_a_full_disk_refuses_writes_and_nothing_else(self):
        disk = SmallDisk(96)
        self.addCleanup(disk.close)
        broker = Broker("--set", "log.segment.bytes=1048576", data=os.path.join(disk.path, "data"))
        self.addCleanup(broker.close)
        acked = {}
        with RawClient(broker) as client:
            for topic in ["kept", "filler"]:
                self.assertEqual(client.create_topic(topic), 0)

            def write(number):
                records = batch([b"record %d" % number])
                error, offset = client.produce("kept", records)
                if error == 0:
                    acked[offset] = records[21:]
                return error

            # Full for good: a file system finds a little more space now and then.
            number, refused_in_a_row = 0, 0
            while refused_in_a_row < 10:
                self.assertLess(number, 400, "the disk does not become full")
                error, _ = client.produce("filler", LARGE)
                self.assertIn(error, (0, STORAGE_ERROR))
                refused_in_a_row = refused_in_a_row + 1 if error else 0
                self.assertIn(write(number), (0, STORAGE_ERROR))
                number += 1
            self.assertIsNone(broker.process.poll(), broker.log)

            stored = client.batches("kept")
            self.assertEqual({offset: stored.get(offset) for offset in acked}, acked, "reads go on")
            self.assertEqual(client.delete_topic("filler"), 0, "deletes go on")
            wait_until(lambda: write(number) == 0, "writes go on once there is space", broker)
            number += 1
            self.assertEqual(client.create_topic("filler"), 0)
            wait_until(lambda: client.produce("filler", LARGE)[0] == 0, "large ones, too", broker)
        broker.kill()
        broker.start()
        with RawClient(broker) as client:
            stored = client.batches("kept")
            self.assertEqual({offset: stored.get(offset) for offset in acked}, acked)
            self.assertEqual(client.produce("kept", batch([b"after"]))[0], 0)
        self.assertEqual(broker.terminate(), 0, broker.log)


    def test_partitions_that_could_not_be_made_come_back_when_there_is_space(self):
        disk = SmallDisk(64, "-N", "800")
        self.addCleanup(disk.close)
        broker = Broker("--set", "offsets.topic.num.partitions=50", data=os.path.join(disk.path, "data"))
        self.addCleanup(broker.close)
        kcat(broker, "-P", "-t", "orders", "-p", "0", stdin=b"one\ntwo\n")
        # No inode is left for half of the partitions.
        filler = os.path.join(disk.path, "filler")
        os.mkdir(filler)
        files = []
        try:
            while True:
                path = os.path.join(filler, str(len(files)))
                with open(path, "w"):
                    files.append(path)
        except OSError as problem:
            self.assertEqual(problem.errno, errno.ENOSPC)
        for path in files[:100]:
            os.remove(path)

        def count(sentence):
            return len({line.split(sentence)[0].split()[-1] for line in broker.lines
                        if "__consumer_offsets-" in line and sentence in line})

        with RawClient(broker) as client:
            client.call(frame(FIND_COORDINATOR, 0, struct.pack(">h", 5) + b"group"))
        wait_until(lambda: count(" is offline") > 0, "some partitions find no room", broker)
        self.assertLess(count(" is offline"), 50, "and some do")
        shutil.rmtree(filler)
        wait_until(lambda: count(" is served") == count(" is offline"), "they are made when there is some", broker)
        for group in range(8):
            read = kcat(broker, "-G", f"group-{group}", "-X", "auto.offset.reset=earliest", "-c", "2", "orders")
            self.assertEqual(read, b"one\ntwo\n", broker.log)
        self.assertEqual(broker.terminate(), 0, broker.log)


class DescriptorsTest(unittest.TestCase):
    def test_without_descriptors_connections_are_turned_away_and_the_rest_goes_on(self):
        limit = 160
        broker = Broker("--set", "log.segment.bytes=1048576", limits={resource.RLIMIT_NOFILE: limit})
        self.addCleanup(broker.close)
        client = RawClient(broker)
        self.addCleanup(client.close)
        self.assertEqual(client.create_topic("t"), 0)
        self.assertEqual(client.produce("t", batch([b"before"]))[0], 0)
        crowd = []
        for _ in range(3 * limit):
            crowd.append(broker.connect())

        def turned_away():
            """Not always the newest: whoever connects while the broker closes a file has its descriptor."""
            closed = select.poll()  # the broker says nothing to clients that say nothing, so what can be read is the end
            for sock in crowd:
                closed.register(sock, select.POLLIN)
            return len(closed.poll(0))

        wait_until(lambda: turned_away() > limit, "connections without a descriptor are closed", broker)
        # Segments are rolled all the while: that may fail, with an error that says "again", and never with a crash.
        acked = {}
        errors = set()
        for number in range(30):
            error, offset = client.produce("t", LARGE)
            errors.add(error)
            if error == 0:
                acked[offset] = LARGE[21:]
        self.assertLessEqual(errors, {0, STORAGE_ERROR})
        self.assertIsNone(broker.process.poll(), broker.log)
        self.assertIn("out of file descriptors", broker.log)

        for sock in crowd:
            sock.close()
        wait_until(lambda: client.produce("t", LARGE)[0] == 0, "everything works again", broker)
        with RawClient(broker) as newcomer:
            stored = newcomer.batches("t")
        self.assertEqual({offset: stored.get(offset) for offset in acked}, acked)
        self.assertEqual(broker.terminate(), 0)


SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fails the syncs of files whose path contains $FAIL_SYNCS_OF while the file $FAIL_SYNCS_WHILE exists. */
int fdatasync(int file) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0 && strstr(path, getenv("FAIL_SYNCS_OF")) && access(getenv("FAIL_SYNCS_WHILE"), F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  return real(file);
}
"""


class FailingDiskTest(unittest.TestCase):
    def test_a_failed_sync_takes_its_log_offline_and_no_other(self):
        compiler = shutil.which("clang-19") or shutil.which("cc")
        if compiler is None:
            self.skipTest("no C compiler for the library that makes syncs fail")
        home = tempfile.mkdtemp(prefix="naru-shim-")
        self.addCleanup(shutil.rmtree, home)
        library, switch = os.path.join(home, "shim.so"), os.path.join(home, "fail")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, "-x", "c", "-", "-ldl"], input=SHIM, text=True,
                       check=True)
        broker = Broker(environment={"LD_PRELOAD": library, "FAIL_SYNCS_OF": "/bad-", "FAIL_SYNCS_WHILE": switch})
        self.addCleanup(broker.close)
        with RawClient(broker) as client:
            for topic in ["bad", "good"]:
                self.assertEqual(client.create_topic(topic), 0)
                self.assertEqual(client.produce(topic, LARGE), (0, 0))
            with open(switch, "w"):
                pass
            self.assertEqual(client.produce("bad", LARGE)[0], STORAGE_ERROR, "a sync that failed is no acknowledgement")
            self.assertEqual(client.produce("good", LARGE)[0], 0)
            os.remove(switch)
            self.assertEqual(client.produce("bad", LARGE)[0], STORAGE_ERROR, "what the kernel dropped is not tried again")
            self.assertEqual(client.produce("good", LARGE)[0], 0)
        self.assertIn("goes offline", broker.log)
        broker.kill()
        broker.start()
        with RawClient(broker) as client:
            self.assertEqual(client.batches("bad")[0], LARGE[21:])
            self.assertEqual(client.produce("bad", LARGE)[0], 0)
            self.assertEqual(len(client.batches("good")), 3)


if __name__ == "__main__":
    unittest.main()
