#!/usr/bin/env python3
"""Checks what a reader of the repository meets: clean text, working links, a README in every folder of src/, and a line in
docs/metrics.md for every metric.

    check_repository.py [ROOT]

Prints one line per violation and exits with 1 if there is any.
"""

import os
import pathlib
import re
import sys

TEXT_SUFFIXES = {".cc", ".h", ".cmake", ".py", ".md", ".txt", ".json", ".sh", ".yml", ".yaml", ".properties"}
TEXT_NAMES = {"dev", "run", "LICENSE", ".clang-format", ".clang-tidy", ".gitignore"}
SKIPPED_FOLDERS = re.compile(r"^(\.git|\.cache|build.*|data|__pycache__)$")
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
README_LINES = range(10, 61)
METRIC = re.compile(r'\b(?:counter|gauge|histogram|computed_gauge)\(\s*"(naru_\w+)"')


def text_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not SKIPPED_FOLDERS.match(name))
        for name in sorted(names):
            if pathlib.Path(name).suffix in TEXT_SUFFIXES or name in TEXT_NAMES:
                yield pathlib.Path(folder, name)


def text_problems(text):
    """(line, sentence) for each blemish of one file."""
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        if UNFINISHED.search(line):
            yield number, "unfinished work belongs in an issue, not in the tree"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "the file does not end with a newline"


def without_code(markdown):
    """The text with code blocks and code spans blanked, because brackets in code are not links."""
    markdown = re.sub(r"^```.*?^```", lambda match: "\n" * match.group().count("\n"), markdown, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "``", markdown)


def anchors(markdown):
    """The names that links may use for headings, as the usual renderers make them."""
    headings = re.findall(r"^#+\s+(.*)$", markdown, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def link_problems(file, markdown):
    for number, line in enumerate(without_code(markdown).split("\n"), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            linked = (file.parent / path) if path else file
            if not linked.exists():
                yield number, f"the link {target} leads nowhere"
            elif anchor and linked.suffix == ".md" and anchor not in anchors(linked.read_text()):
                yield number, f"{path or file.name} has no heading #{anchor}"


def readme_problems(root):
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir()):
        if not any(folder.rglob("*.h")) and not any(folder.rglob("*.cc")):
            continue
        name, readme = folder.relative_to(root).as_posix(), folder / "README.md"
        if not readme.exists():
            yield f"{name}: has no README.md (what it owns, what it never does, main classes, how to test)"
            continue
        lines = readme.read_text().splitlines()
        if len(lines) not in README_LINES:
            yield f"{name}/README.md: {len(lines)} lines; {README_LINES.start} to {README_LINES.stop - 1} are useful"
        if not lines or not lines[0].startswith(f"# {folder.name}"):
            yield f"{name}/README.md: the first line is not the heading '# {folder.name}'"


def metric_problems(root):
    """docs/metrics.md and the code name the same metrics."""
    page = root / "docs/metrics.md"
    documented = set(re.findall(r"^\| `(naru_\w+)`", page.read_text(), flags=re.MULTILINE)) if page.exists() else set()
    registered = {}
    for file in sorted((root / "src").rglob("*")):
        if file.suffix in (".cc", ".h") and not file.name.endswith("_test.cc"):
            registered.update(dict.fromkeys(METRIC.findall(file.read_text()), file.relative_to(root).as_posix()))
    for name in sorted(registered.keys() - documented):
        yield f"{registered[name]}: the metric {name} has no line in docs/metrics.md"
    for name in sorted(documented - registered.keys()):
        yield f"docs/metrics.md: there is no metric {name}"


def check(root):
    """All violations below `root`, as printable lines."""
    root = pathlib.Path(root)
    problems = [*readme_problems(root), *metric_problems(root)]
    for file in text_files(root):
        path = file.relative_to(root).as_posix()
        try:
            text = file.read_bytes().decode()
        except UnicodeDecodeError:
            problems.append(f"{path}: is not UTF-8 text")
            continue
        found = list(text_problems(text))
        if file.suffix == ".md":
            found += link_problems(file, text)
        problems += [f"{path}:{line}: {sentence}" for line, sentence in found]
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    problems = check(root)
    print("\n".join(problems) if problems else "repository: fine")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
