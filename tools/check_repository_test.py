import pathlib
import tempfile
import unittest

import check_repository


class CheckRepositoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("src/part/README.md", "# part\n" + "line\n" * 20)
        self.write("src/part/a.cc", "int a;\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def problems(self, path=None, text=None):
        if path:
            self.write(path, text)
        return check_repository.check(self.root)

    def test_a_clean_tree_is_fine(self):
        self.assertEqual(self.problems(), [])

    def test_blemishes_are_found_with_their_line(self):
        unfinished = "TO" + "DO"
        self.assertEqual(self.problems("src/part/a.cc", f"int a;\n\tint b; \n// {unfinished}: c\nend"),
                         ["src/part/a.cc:2: a tab",
                          "src/part/a.cc:2: blanks at the end of the line",
                          "src/part/a.cc:3: unfinished work belongs in an issue, not in the tree",
                          "src/part/a.cc:4: the file does not end with a newline"])

    def test_build_folders_are_not_ours(self):
        self.assertEqual(self.problems("build-asan/x.cc", "\t"), [])

    def test_every_source_folder_has_a_readme_of_useful_length(self):
        self.assertEqual(len(self.problems("src/other/b.h", "int b;\n")), 1)
        self.assertEqual(self.problems("src/other/README.md", "# other\n"),
                         ["src/other/README.md: 1 lines; 10 to 60 are useful"])
        self.assertEqual(self.problems("src/other/README.md", "#other\n" + "line\n" * 20),
                         ["src/other/README.md: the first line is not the heading '# other'"])

    def test_links_lead_somewhere(self):
        self.write("docs/b.md", "# Two Words, really\n")
        self.assertEqual(self.problems("docs/a.md", "[b](b.md) [c](b.md#two-words-really) [w](https://x.y) `[x](none)`\n"), [])
        self.assertEqual(self.problems("docs/a.md", "[b](none.md)\n[c](b.md#nothing)\n"),
                         ["docs/a.md:1: the link none.md leads nowhere", "docs/a.md:2: b.md has no heading #nothing"])
        self.assertEqual(self.problems("docs/a.md", "```\n[x](none)\n```\n"), [], "code is not a link")

    def test_every_metric_is_documented_and_every_documented_metric_exists(self):
        self.write("src/part/a.cc", 'auto& a = registry.counter(\n    "naru_a_total", "A.");\n')
        self.write("src/part/a_test.cc", 'registry.gauge("naru_of_a_test", "A.");\n')
        self.assertEqual(self.problems("docs/metrics.md", "| `naru_b` | gauge | B. |\n"),
                         ["src/part/a.cc: the metric naru_a_total has no line in docs/metrics.md",
                          "docs/metrics.md: there is no metric naru_b"])
        self.assertEqual(self.problems("docs/metrics.md", "| `naru_a_total` | counter | A. |\n"), [])


if __name__ == "__main__":
    unittest.main()
