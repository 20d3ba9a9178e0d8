#!/usr/bin/env python3
"""Every --value in the text of docs/ is a recipe: it is run with the version of transformers that the
text names, and does what the text says.

usage: recipes_test.py HEADROOM        (skipped, 77, without torch and that transformers)
"""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tests" / "virtual_gpu" / "programs" / "recipes.py"
RECIPE = re.compile(r"--value '?([\w/.]+\.py):(\d+)=([^\s'`]+)")
OUTPUT = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)  # of programs, held by other tests
# The file of each recipe, and the output with it.
EXPECTED = {
    "generation/utils.py": {"generate": "tokens 20\n"},
    "mixtral/modeling_mixtral.py": {"mixtral": f"tokens of experts{' 32' * 16}\n",
                                    "training": "peak 1304853504\n"},
}
# TRL's GRPO wants no recipe: its loss is over all tokens that were generated.
TRL, GRPO_PEAK = "1.16", "peak 240757760"

# Commands by which published figures were met; they want DeepSpeed and a checkout of its programs.
OF_FIGURES = {"stage_1_and_2.py", "stage3.py"}


def recipes():
    """Of each file the answers that the documents give."""
    found, versions = {}, set()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = OUTPUT.sub("", page.read_text(encoding="utf-8"))
        versions |= set(re.findall(r"Recipes for transformers (\d+\.\d+)", text))
        for file, line, numbers in RECIPE.findall(text):
            if file not in OF_FIGURES:
                found.setdefault(file, []).append(f"{file}:{line}={numbers}")
    return found, versions


def has_version(package, wanted):
    try:
        return importlib.metadata.version(package).startswith(f"{wanted}.")
    except importlib.metadata.PackageNotFoundError:
        return False


def run(what, answers):
    """The program's output."""
    done = subprocess.run([sys.argv[1], "dryrun", "--card", "h100-80gb", *answers, "--",
                           sys.executable, str(PROGRAM), what],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{what} {answers}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


def main():
    found, versions = recipes()
    assert set(found) == set(EXPECTED), f"docs/ has recipes for {sorted(found)}"
    assert len(versions) == 1, f"docs/ names several versions of transformers: {sorted(versions)}"
    try:
        importlib.metadata.version("torch")
        there = importlib.metadata.version("transformers")
    except importlib.metadata.PackageNotFoundError:
        return 77
    if ".".join(there.split(".")[:2]) not in versions:
        print(f"skipped: transformers {there} here, {versions} in docs/")
        return 77
    for file, programs in EXPECTED.items():
        answers = [word for answer in found[file] for word in ("--value", answer)]
        for what, expected in programs.items():
            printed = run(what, answers)
            assert printed == expected, f"{what} {answers}: {printed!r}"
    if has_version("trl", TRL):
        printed = run("grpo", []).splitlines()
        assert printed[-1:] == [GRPO_PEAK], printed
    return 0


if __name__ == "__main__":
    sys.exit(main())
