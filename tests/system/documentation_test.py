"""Runs the examples of README.md and docs/cli.md, so that they stay true.

A block of ```console is run against a broker of its own file, one block after the other. Lines that begin with "$ " are commands of
bash; what follows is what they print, on standard output and standard error. "..." stands for anything, on a line of its own for any
lines. A command without output may print what it likes. It must succeed, unless its output begins with "naru: ".
A block behind <!-- not run: reason --> is left out. 127.0.0.1:9092 is replaced by the broker's address, which may be longer: runs of
blanks count as one.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from naru_process import NARU, PATIENCE_S, Broker

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(<!-- not run: [^\n]*-->\n)?```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
ADDRESS = "127.0.0.1:9092"


def blocks(markdown):
    """(commands, line) for each block to run; commands are (command, expected lines)."""
    for match in BLOCK.finditer(markdown):
        if match.group(1):
            continue
        commands = []
        for line in match.group(2).splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif commands:
                commands[-1][1].append(line)
        yield commands, markdown.count("\n", 0, match.start(2)) + 1


def single_blanks(text):
    return re.sub(" +", " ", text)


def pattern(expected):
    """A regular expression for the whole output, with single blanks."""
    expected = map(single_blanks, expected)
    parts = [r"(?:[^\n]*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n" for line in expected]
    return re.compile(r"\A" + "".join(parts) + r"\Z")


class PatternTest(unittest.TestCase):
    def test_dots_stand_for_anything(self):
        self.assertTrue(pattern(["a ... c", "...", "z"]).match("a b c\nx\ny\nz\n"))
        self.assertTrue(pattern(["a", "..."]).match("a\n"))
        self.assertFalse(pattern(["a ... c"]).match("a b\n"))
        self.assertFalse(pattern(["a"]).match("a\nb\n"))

    def test_only_marked_blocks_are_left_out(self):
        text = "x\n<!-- not run: why -->\n```console\n$ a\n```\n\n```console\n$ b\nout\n$ c\n```\n"
        self.assertEqual(list(blocks(text)), [([("b", ["out"]), ("c", [])], 8)])


class DocumentationTest(unittest.TestCase):
    def run_examples(self, name):
        broker = Broker()
        self.addCleanup(broker.close)
        folder = tempfile.TemporaryDirectory(prefix="naru-test-")
        self.addCleanup(folder.cleanup)
        environment = {**os.environ, "NARU_BOOTSTRAP": broker.address, "NO_COLOR": "1",
                       "PATH": f"{os.path.dirname(os.path.abspath(NARU))}:{os.environ['PATH']}"}
        count = 0
        for commands, line in blocks((ROOT / name).read_text()):
            for command, expected in commands:
                done = subprocess.run(["bash", "-c", command.replace(ADDRESS, broker.address)], cwd=folder.name,
                                      env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
                output = done.stdout.replace(broker.address, ADDRESS)
                where = f"{name}, block at line {line}: $ {command}\n{output}"
                fails = bool(expected) and expected[0].startswith("naru: ")
                self.assertEqual(done.returncode != 0, fails, where)
                if expected:
                    self.assertRegex(single_blanks(output), pattern(expected), where)
                count += 1
        return count

    def test_the_reference_of_the_command_line(self):
        self.assertGreater(self.run_examples("docs/cli.md"), 10)

    def test_the_readme(self):
        self.assertGreater(self.run_examples("README.md"), 3)


if __name__ == "__main__":
    unittest.main()
