import pathlib
import tempfile
import unittest

import check_layers

LAYERS = """
# comment
foundation
left right
platform
top
server_main
made = left
"""


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("tools/layers.txt", LAYERS)
        self.write("tools/os_allowed.txt", "# comment\nsrc/platform/real/  *  the place\nsrc/left/threaded.cc  threads  why\n")
        self.write("src/platform/real/clock.cc", "auto t = std::chrono::steady_clock::now();\n")
        self.write("src/left/threaded.cc", "#include <thread>\nstd::thread t;\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def problems(self, path=None, text=None):
        if path:
            self.write(path, text)
        return check_layers.check(self.root)

    def test_includes_may_point_down_and_into_the_own_folder(self):
        self.assertEqual(self.problems("src/top/a.cc", '#include "top/a.h"\n#include "left/b.h"\n#include "made/c.h"\n'), [])

    def test_an_include_that_points_up_is_found(self):
        self.assertEqual(self.problems("src/left/a.cc", '\n#include "top/a.h"\n'),
                         ['src/left/a.cc:2: "top/a.h": left may not know top (tools/layers.txt)'])

    def test_neighbours_do_not_know_each_other(self):
        self.assertEqual(self.problems("src/right/a.h", '#include "left/a.h"\n'),
                         ['src/right/a.h:1: "left/a.h": right may not know left (tools/layers.txt)'])
        self.assertEqual(len(self.problems("src/right/a.h", '#include "made/a.h"\n')), 1, "nor what they generate")

    def test_an_include_names_its_folder(self):
        self.assertEqual(self.problems("src/top/a.cc", '#include "a.h"\n'),
                         ['src/top/a.cc:1: "a.h" is not written as "folder/file.h"'])
        self.assertIn("not in tools/layers.txt", self.problems("src/top/a.cc", '#include "nowhere/a.h"\n')[0])
        self.assertIn("not in tools/layers.txt", self.problems("src/stranger/a.cc", "")[0])

    def test_only_server_main_chooses_the_real_seams_and_only_tests_the_simulated(self):
        real, simulated = '#include "platform/real/clock.h"\n', '#include "platform/simulated/world.h"\n'
        self.assertEqual(self.problems("src/server_main/a.cc", real), [])
        self.assertEqual(self.problems("src/top/a_test.cc", real + simulated), [])
        self.assertEqual(len(self.problems("src/top/a.cc", real + simulated)), 2)

    def test_only_tests_include_what_is_for_tests(self):
        helper = '#include "top/b_testing.h"\n'
        self.assertEqual(self.problems("src/top/a_test.cc", helper), [])
        self.assertEqual(self.problems("src/top/a.cc", helper), ['src/top/a.cc:1: "top/b_testing.h": only tests include it'])

    def test_each_rule_finds_its_violation_outside_of_the_allowed_places(self):
        for rule, code in {
            "files": "#include <unistd.h>\n",
            "sockets": "int r = getaddrinfo (a, b, c, d);\n",
            "threads": "std::thread t;\n",
            "clock": "auto t = std::chrono::system_clock::now();\n",
            "randomness": "int r = rand();\n",
            "process": 'auto e = std::getenv("HOME");\n',
        }.items():
            with self.subTest(rule):
                problems = self.problems("src/top/a.cc", code)
                self.assertEqual(len(problems), 1, problems)
                self.assertIn(f"breaks the rule '{rule}'", problems[0])

    def test_words_in_comments_strings_and_longer_names_do_not_count(self):
        code = '// std::thread\n/* rand() */\nauto s = "getenv("; auto r = R"(std::jthread)";\nint operand(int); int x = operand(1);\n'
        self.assertEqual(self.problems("src/top/a.cc", code), [])

    def test_tests_may_use_threads_but_not_sleep(self):
        self.assertEqual(self.problems("src/top/a_test.cc", "#include <thread>\nstd::thread t;\n"), [])
        self.assertEqual(len(self.problems("src/top/a_test.cc", "std::this_thread::sleep_for(1s);\n")), 1)

    def test_heavy_headers_stay_out_of_headers(self):
        self.assertEqual(self.problems("src/top/a.cc", "#include <nlohmann/json.hpp>\n"), [])
        self.assertEqual(len(self.problems("src/top/a.h", "#include <nlohmann/json.hpp>\n")), 1)

    def test_an_exception_for_a_file_that_is_gone_is_found(self):
        (self.root / "src/left/threaded.cc").unlink()
        self.assertEqual(self.problems(), ["tools/os_allowed.txt: src/left/threaded.cc does not exist"])


if __name__ == "__main__":
    unittest.main()
