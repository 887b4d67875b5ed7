"""The `naru` command, for tests of what it prints."""

import json
import subprocess

from naru_process import NARU, PATIENCE_S


class NaruCommand:
    """For a TestCase with `address`, where its broker listens."""

    def run_naru(self, *words):
        return subprocess.run([NARU, *words, "--bootstrap", self.address], capture_output=True, text=True, timeout=PATIENCE_S)

    def naru(self, *words):
        done = self.run_naru(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def json(self, *words):
        return json.loads(self.naru(*words, "--json"))

    def refused(self, *words):
        """What it says to standard error."""
        done = self.run_naru(*words)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr
