#!/usr/bin/env python3
"""Checks that includes in src/ point down tools/layers.txt and that the operating system is used in few places only.

    check_layers.py [ROOT]

Prints one line per violation and exits with 1 if there is any. tools/os_allowed.txt lists the exceptions.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.MULTILINE)
TEST_FILE = re.compile(r"(_test|_fuzz|_bench)\.cc$|(^|/)test_[^/]*\.h$|_(contract|testing)\.h$")

# rule: (headers, words in the code). What the seams are for, and what would make a run depend on more than its seed.
RULES = {
    "files": (
        r"unistd\.h|fcntl\.h|dirent\.h|sys/(stat|mman|statvfs|uio|file|sendfile)\.h|fstream|filesystem",
        r"\bstd::(?:[io]?fstream|filesystem)\b|\b(?:fopen|freopen|fwrite|fread|fputs|fprintf|tmpfile|mkstemp)\s*\(",
    ),
    "sockets": (
        r"sys/(socket|epoll|select|un)\.h|netinet/.*|arpa/.*|netdb\.h|poll\.h|uv\.h|httplib\.h",
        r"\b(?:getaddrinfo|setsockopt|epoll_wait)\s*\(|\buv_\w+\s*\(",
    ),
    "threads": (
        r"thread|future|pthread\.h|sched\.h|stop_token|semaphore|barrier|latch|condition_variable",
        r"\bstd::(?:thread|jthread|async|this_thread|condition_variable\w*)\b|\bpthread_\w+|\b(?:usleep|nanosleep)\s*\(",
    ),
    "clock": (
        r"ctime|time\.h|sys/time\.h",
        r"\b(?:steady|system|high_resolution|utc)_clock\b|\b(?:clock_gettime|gettimeofday)\s*\(|\bstd::time\s*\(",
    ),
    "randomness": (
        r"random|sys/random\.h",
        r"\bstd::(?:random_device|mt19937\w*|default_random_engine|rand)\b|\b(?:rand|srand|getrandom|arc4random)\s*\(",
    ),
    "process": (
        r"signal\.h|csignal|spawn\.h|sys/(wait|resource|types|prctl|syscall)\.h",
        r"\b(?:getenv|setenv|secure_getenv|fork|execve|system|getpid|sigaction)\s*\(|\bstd::(?:getenv|system|signal)\b",
    ),
}
# Tests may start threads and read files, but waiting for real time makes them slow or flaky.
TEST_RULES = {"sleep": (None, r"\bthis_thread::sleep_\w+\s*\(|\b(?:usleep|nanosleep)\s*\(")}

# Headers that make every file slow to compile stay in .cc files.
HEAVY_HEADER = re.compile(r"^(nlohmann/|CLI/|spdlog/|httplib\.h|uv\.h)")


class Layers:
    def __init__(self, text):
        self.level, self.generated = {}, {}
        level = 0
        for line in (raw.split("#")[0].strip() for raw in text.splitlines()):
            if "=" in line:
                name, owner = (part.strip() for part in line.split("="))
                self.generated[name] = owner
            elif line:
                self.level.update(dict.fromkeys(line.split(), level))
                level += 1

    def folder_of_include(self, path):
        first = path.split("/")[0]
        return self.generated.get(first, first)

    def problem(self, folder, include):
        """Why a file of `folder` may not include `include`, or None."""
        target = self.folder_of_include(include)
        if "/" not in include:
            return f'"{include}" is not written as "folder/file.h"'
        if target not in self.level:
            return f'"{include}": {target} is not in tools/layers.txt'
        if target != folder and self.level[target] >= self.level[folder]:
            return f'"{include}": {folder} may not know {target} (tools/layers.txt)'
        return None


def without_comments_and_strings(text):
    """The code alone, with the same line numbers."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
    return token.sub(lambda match: "\n" * match.group().count("\n"), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def include_problems(layers, path, text):
    """Violations of one file of src/, as (line, sentence)."""
    folder = path.split("/")[1]
    is_test = TEST_FILE.search(path)
    for match in INCLUDE.finditer(text):
        line, quote, name = line_of(text, match.start()), match.group(1), match.group(2)
        if quote == "<":
            if path.endswith(".h") and HEAVY_HEADER.match(name):
                yield line, f"<{name}> is heavy: include it in .cc files only"
            continue
        if problem := layers.problem(folder, name):
            yield line, problem
        elif name.startswith("platform/real/") and folder not in ("platform", "server_main") and not is_test:
            yield line, f'"{name}": only server_main chooses the real seams'
        elif re.match(r"\w+/simulated/", name) and "/simulated/" not in path and not is_test:
            yield line, f'"{name}": only tests use simulated parts'
        elif name.endswith("_testing.h") and not is_test:
            yield line, f'"{name}": only tests include it'


def os_problems(rules, path, text, allowed):
    code = without_comments_and_strings(text)
    for rule, (headers, words) in rules.items():
        if allowed(path, rule):
            continue
        if headers:
            for match in INCLUDE.finditer(text):
                if match.group(1) == "<" and re.fullmatch(headers, match.group(2)):
                    yield line_of(text, match.start()), f"<{match.group(2)}> breaks the rule '{rule}': go through a seam"
        for match in re.finditer(words, code):
            yield line_of(code, match.start()), f"'{match.group().strip(' (')}' breaks the rule '{rule}': go through a seam"


def parse_allowed(text):
    entries = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            path, rule, reason = line.split(None, 2)
            entries.append((path, rule, reason))

    def allowed(path, rule):
        return any((path.startswith(entry) if entry.endswith("/") else path == entry) and name in ("*", rule)
                   for entry, name, _ in entries)

    return entries, allowed


def check(root):
    """All violations below `root`, as printable lines."""
    root = pathlib.Path(root)
    layers = Layers((root / "tools/layers.txt").read_text())
    entries, allowed = parse_allowed((root / "tools/os_allowed.txt").read_text())
    problems = [f"tools/os_allowed.txt: {path} does not exist" for path, _, _ in entries if not (root / path).exists()]
    for file in sorted((root / "src").rglob("*")):
        if file.suffix not in (".h", ".cc"):
            continue
        path, text = file.relative_to(root).as_posix(), file.read_text()
        if path.split("/")[1] not in layers.level:
            problems.append(f"{path}: its folder is not in tools/layers.txt")
            continue
        rules = TEST_RULES if TEST_FILE.search(path) else RULES
        found = sorted([*include_problems(layers, path, text), *os_problems(rules, path, text, allowed)])
        problems += [f"{path}:{line}: {sentence}" for line, sentence in found]
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    problems = check(root)
    print("\n".join(problems) if problems else "layers and seams: fine")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
