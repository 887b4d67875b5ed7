"""The page of compatibility, without a broker and without network."""

import os
import pathlib
import tempfile
import unittest

import results
from checks import CHECKS

ROOT = pathlib.Path(__file__).resolve().parents[2]


class SomeCheck:
    def __init__(self, name, version, *differences):
        self.name, self.version, self.differences = name, version, differences


class ResultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="naru-test-")
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "deep", "results.json")

    def test_the_last_run_of_a_check_counts(self):
        results.keep(SomeCheck("one", "1"), "FAILED", "broken", self.file)
        results.keep(SomeCheck("two", "2"), "passed", "fine", self.file)
        results.keep(SomeCheck("one", "1"), "passed", "fine now", self.file)
        entries = results.load(self.file)
        self.assertEqual({name: (entry["result"], entry["remark"]) for name, entry in entries.items()},
                         {"one": ("passed", "fine now"), "two": ("passed", "fine")})

    def test_a_check_that_was_skipped_keeps_what_it_had(self):
        results.keep(SomeCheck("one", "1"), "passed", "fine", self.file)
        results.keep(SomeCheck("one", "1"), "SKIPPED", "needs go", self.file)
        self.assertEqual(results.load(self.file)["one"]["result"], "passed")

    def test_a_result_of_another_version_is_none_of_this_one(self):
        results.keep(SomeCheck("one", "1"), "passed", "a | b", self.file)
        entry = results.load(self.file)["one"]
        self.assertIn("| passed | a \\| b |", results.row(SomeCheck("one", "1"), entry))
        self.assertIn("| not run |", results.row(SomeCheck("one", "2"), entry))
        self.assertIn("| not run |", results.row(SomeCheck("two", "1"), None))

    def test_differences_stand_below_the_table_once(self):
        page = results.page([SomeCheck("one", "1", "They differ."), SomeCheck("two", "1", "They differ.", "So do these.")], {})
        self.assertEqual(page.count("They differ."), 1)
        self.assertTrue(page.endswith("\n- They differ.\n- So do these.\n"))


class PageTest(unittest.TestCase):
    def setUp(self):
        self.page = (ROOT / "docs" / "compatibility.md").read_text()

    def test_the_page_names_every_check_with_its_version_and_no_other(self):
        named = [line.split(" | ")[:2] for line in self.page.splitlines() if line.startswith("| `")]
        self.assertEqual(named, [[f"| `{check.name}`", check.version] for check in CHECKS],
                         "run tests/interop/run --write-docs after the checks")

    def test_the_page_says_what_differs(self):
        for check in CHECKS:
            for sentence in getattr(check, "differences", ()):
                self.assertIn(f"\n- {sentence}\n", self.page, check.name)


if __name__ == "__main__":
    unittest.main()
