#!/usr/bin/env python3
"""Fails when a document leads nowhere: a link, a path or a test that is named and not there.

usage: check_docs.py [ROOT]

Looks at README.md, CONTRIBUTING.md and the pages in docs/: relative links (with their #headings), paths in code
spans and code blocks (`train/step.cpp`, `profiling/theory`, `./scripts/test.sh`), names of CTests
(CTest `layers`). A path may leave out .h and .cpp, and may hold a shell pattern.
Also fails when the README is longer than 100 lines.
"""

import pathlib
import re
import sys

README_LINES = 100
FOLDERS = (
    "bench cards cli cmake docs files model plan profiling results scripts studies tests text train virtual_gpu"
).split()
# Folders that a reader's own runs make.
MADE = ("results/memory_profiling", "results/mine")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(rf"^(?:\./)?((?:{'|'.join(FOLDERS)})/[\w./*-]*)$")
CTEST = re.compile(r"CTest `(\w+)`")
FENCE = re.compile(r"^```")
OUTPUT = re.compile(r"^<!-- (table|output): ")


def text_and_code(page):
    """Lines that a person wrote, as prose and as code blocks; with their numbers."""
    in_code = in_results = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if OUTPUT.match(line):
            in_results = True
        elif line == "<!-- end -->":
            in_results = False
        elif FENCE.match(line):
            in_code = not in_code
        elif not in_results:
            yield number, line, in_code


def anchors(page):
    """As GitHub makes them of headings."""
    found = set()
    for _, line, is_code in text_and_code(page):
        if line.startswith("#") and not is_code:
            words = line.lstrip("#").strip().lower()
            found.add(re.sub(r"[^\w -]", "", words).replace(" ", "-"))
    return found


def link_problem(page, target, root):
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    path = (page.parent / name) if name else page
    if not path.exists():
        return f"the link {target} leads nowhere"
    if root not in path.resolve().parents and path.resolve() != root:
        return f"the link {target} leads out of the tree"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return f"the link {target} names no heading"
    return None


def path_problem(word, root):
    match = PATH.match(word.rstrip(".,;:"))
    if not match or match[1].startswith(MADE):
        return None
    name = match[1].rstrip("/")
    ends = ("", ".h", ".cpp")
    if any(any(root.glob(name + end)) for end in ends):
        return None
    return f"'{word}' is not in the tree"


def ctest_problem(name, ctests):
    return None if re.search(rf"\b{name}\b", ctests) else f"there is no CTest '{name}'"


def page_problems(page, root, ctests):
    for number, line, is_code in text_and_code(page):
        words = line.split() if is_code else SPAN.findall(line)
        problems = [path_problem(word, root) for word in words]
        if not is_code:
            problems += [link_problem(page, target, root) for target in LINK.findall(line)]
            problems += [ctest_problem(name, ctests) for name in CTEST.findall(line)]
        yield from (f"{page.relative_to(root)}:{number}: {problem}" for problem in problems if problem)


def problems(root):
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/**/*.md"))]
    declared = [*root.glob("tests/CMakeLists.txt"), *root.glob("tests/*/tests.cmake")]
    ctests = "".join(path.read_text(encoding="utf-8") for path in declared)
    for page in filter(pathlib.Path.exists, pages):
        yield from page_problems(page, root, ctests)
    lines = len((root / "README.md").read_text(encoding="utf-8").splitlines())
    if lines > README_LINES:
        yield f"README.md: {lines} lines; a reader is given {README_LINES} at most"


def main():
    here = pathlib.Path(__file__).resolve()
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here.parents[3]
    found = list(problems(root))
    print("\n".join(found) if found else "documents: every link, path and test they name is there")
    return 1 if found else 0


sys.exit(main())
