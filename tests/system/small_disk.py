"""A small file system for tests that fill it."""

import os
import shutil
import subprocess
import tempfile
import unittest


class SmallDisk:
    """An ext4 of its own, in a file, mounted at `path`. Skips the test where that is not possible."""

    def __init__(self, mebibytes, *mkfs_options):
        if os.geteuid() != 0:
            raise unittest.SkipTest("mounting a small disk needs root")
        self.home = tempfile.mkdtemp(prefix="naru-disk-")
        self.path = os.path.join(self.home, "mount")
        image = os.path.join(self.home, "image")
        os.mkdir(self.path)
        with open(image, "wb") as file:
            file.truncate(mebibytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", *mkfs_options, image], check=True, capture_output=True)
        done = subprocess.run(["mount", "-o", "loop", image, self.path], capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(self.home)
            raise unittest.SkipTest(f"this machine does not let the test mount a file: {done.stderr.strip()}")

    def close(self):
        subprocess.run(["umount", "-l", self.path], check=False)
        shutil.rmtree(self.home, ignore_errors=True)
