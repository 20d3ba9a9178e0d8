#!/usr/bin/env python3
"""Every example that headroom shows can be typed as it stands: none is refused (exit 2).

usage: examples_test.py HEADROOM STUB_CELL [unittest arguments]

Examples are the lines of code blocks in README.md, CONTRIBUTING.md and the pages of docs/ (not those of docs/results/) that begin with
headroom, the usage lines of the help texts, and for each flag there the default and the words that
its help lists. Nothing is measured: cells are tests/cli/stub_cell.cpp, programs of dryrun are `true`.
The examples of refusals are tried by tests/cli/input/bad_input_test.sh.
"""

import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from at_night import IS_NIGHT  # noqa: E402

HEADROOM = STUB_CELL = ""
ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "results")]
USAGE = 2

# A refusal comes before anything runs: what still runs after these seconds was not refused.
REFUSAL_SECONDS = 0.5 if IS_NIGHT else 0.08
# The program under its name, each call noted with its exit code. What dryrun would run is replaced.
WRAPPER = """#!/usr/bin/env bash
words=()
for word; do
  words+=("$word")
  if [[ $1 == dryrun && $word == -- ]]; then words+=(true "$*"); break; fi  # with the places of --vary
done
timeout "$REFUSAL_SECONDS" "$HEADROOM" "${words[@]}" 2>"$NOTES/$$.stderr"
code=$?
printf '%s\\n' "$code headroom ${words[*]}: $(tail -n 1 "$NOTES/$$.stderr")" >"$NOTES/$$"
exit "$code"
"""

# Placeholders of usage lines, for a command and in general.
PLACEHOLDERS = {
    ("dryrun", "NAME"): "h200",
    ("cards", "NAME..."): "h200 rtx4090",
    ("finetune", "NAME"): "gpt2",
    ("finetune", "CARD"): "h200",
    ("serve", "NAME"): "llama-3.1-8b",
    ("serve", "CARD"): "h200",
    ("serve", "FLAGS"): "",
    ("fit", "CARD"): "h200",
    ("completion", "ARGUMENT"): "",
    ("completion", "bash|zsh|man|install"): "bash|zsh|man",
    "NAME": "small",
    "NAME,...": "small,medium",
    "FILE": "step.pickle",
    "FILE...": "step.pickle step.pickle",
    ("plot", "FILE..."): "records.jsonl",
    "A": "step.pickle",
    "B": "step.pickle",
    "RECORDS.jsonl...": "records.jsonl",
    "PROGRAM": "true",
    "ARGUMENTS": "",
    "flags": "",
}
# So that a flag's value is what is tried: it stands beside what it needs.
BASE = {
    "profile": "--model-size small --device virtual:h200",
    "sweep": "--model-size small --device virtual:h200 --records new.jsonl",
    "theory": "--model-size small",
    "dryrun": "--card h200",
    "serve": "--config llama-3.1-8b --card h200",
    "finetune": "--config llama-3.1-8b --card h200",
    "fit": "--card h200 --model-size small --batch-size 4 --context-length 128",
    "table": "summary records.jsonl",
    "snapshot": "top step.pickle",
    "compare": "step.pickle step.pickle",
    "report": "step.pickle",
    "plot": "records.jsonl",
    "ppo": "--model-size small --device virtual:h200,bytes=4TiB --prompt-len 256 --response-len 256",
}
MIXED = "--use-mixed-precision"
NOT_ALONE = {"custom"}  # "custom, with every dimension given"

REFUSED = {
    # The plan's own model has grouped heads, which this kernel takes none of.
    ("rlhf", "attention", "efficient"),
    # Packed sequences are of any number of tokens.
    ("ppo", "precision", "fp8"),
    # Compiles for a minute; compiled_cache_test.py.
    ("profile", "kernels", "compiled"),
    ("sweep", "kernels", "compiled"),
    ("theory", "kernels", "compiled"),
    # One that takes commands; its line compares files.
    ("compare", "rounds", "7"),
    # The stand-in's Record has neither.
    ("plot", "y-axis", "saved"),
    ("plot", "y-axis", "predicted"),
    # One rank's file.
    ("theory", "reshard-after-forward", "never"),
}


def help_of(*words):
    return subprocess.run([HEADROOM, *words], capture_output=True, text=True, check=True).stdout


def commands():
    return re.findall(r"^  ([a-z]+)  +\S", help_of("--help"), re.MULTILINE)


def typed(usage):
    """The commands that a usage line stands for: a|b|c one after another, [optional] parts there."""
    words = []
    command = usage.split()[1]
    for word in re.sub(r"[\[\]]", " ", usage).split():
        filled = PLACEHOLDERS.get((command, word), PLACEHOLDERS.get(word, word))
        words.append([filled] if "|" not in filled else filled.split("|"))
    return [" ".join(choice) for choice in itertools.product(*words)]


def flags(text):
    """Of a help text: each flag with what it takes and what is said of it."""
    found = re.findall(r"^  (?:-[a-z], )?--([a-z-]+)(?: ([A-Z]\S*))?  +(.*(?:\n {20,}.*)*)", text, re.MULTILINE)
    return [(name, takes, re.sub(r"\s+", " ", words)) for name, takes, words in found]


def values(takes, words):
    """That the help of a flag names: "text, csv, md (default text)". A number's may be prose."""
    for default in re.findall(r"\(default ([\w.:-]+)[);]", words):
        if takes == "WORD" or default[0].isdigit():
            yield default
    about = re.sub(r"\(.*", "", words)
    for several in re.findall(r"(?:^|: )((?:[a-z0-9][\w.-]*, )+[a-z0-9][\w.-]*)\s*(?:;|$)", about):
        yield from several.split(", ")


# Flags without which a value is refused.
BF16_WEIGHTS = "--param-dtype bf16"
AUTOCAST = "--precision bf16"
BESIDE = {
    ("rank", "0"): "--world-size 2",
    ("rank", "all"): "--mesh dp=2",
    ("rounding", "stochastic"): BF16_WEIGHTS,
    ("master-weights", "fp32"): BF16_WEIGHTS,
    ("attention", "flash"): AUTOCAST,
    ("attention", "cudnn"): AUTOCAST,
    ("algorithm", "grpo"): "--group-size 4",
    ("optimizer-offload", "cpu"): "--profile-type training",
    ("param-offload", "cpu"): "--profile-type training --optimizer-offload cpu",
    ("reshard-after-forward", "never"): "--mesh dp=2 --zero 3",
}


def beside(command, flag, value):
    words = BESIDE.get((flag, value), "")
    if flag.startswith("kv-cache"):
        words = "--profile-type generate"
    if (command, flag) == ("theory", "rank"):
        words = "--mesh dp=2"
    if command == "ppo":  # has none
        words = re.sub(r"--profile-type \w+", "", words)
    return words.split()


def examples_of_help(command):
    text = help_of(command, "--help")
    lines = [f"headroom {command} --help", f"headroom help {command}"]
    for usage in re.findall(rf"^ *(headroom {command} .*)$", text, re.MULTILINE):
        lines += typed(usage)
    for flag, takes, words in flags(text):
        for value in dict.fromkeys(values(takes, words)):
            if value in NOT_ALONE or (command, flag, value) in REFUSED:
                continue
            base = BASE.get(command, "").split()
            if "--" + flag in base:
                at = base.index("--" + flag)
                del base[at : at + 2]
            if flag == "dtype" and MIXED in text:
                base.append(MIXED)
            base += beside(command, flag, value)
            line = ["headroom", command, *base, "--" + flag, value]
            lines.append(" ".join(line) + (" -- true" if command == "dryrun" else ""))
    return list(dict.fromkeys(lines))


def examples_of(page):
    """Lines of its code blocks that begin with headroom; "..." is a drawing, not an example."""
    lines = []
    for block in re.findall(r"^```.*?\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"\s*(?:\$ )?(?:\S*/)?(headroom .*)", line)
            if found and "..." not in found[1]:
                lines.append(found[1])
    return lines


class Examples(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name)
        self.temporary = self.folder / "tmp"  # of runs that are killed, which leave their folders
        self.temporary.mkdir()
        wrapper = self.folder / "bin" / "headroom"
        wrapper.parent.mkdir()
        wrapper.write_text(WRAPPER)
        wrapper.chmod(0o755)
        self.records = self.make_records()

    def make_records(self):
        run = ["profile", "--model-size", "small", "--device", "virtual:h200", "--format", "json"]
        environment = {**os.environ, "HEADROOM_CELL": STUB_CELL}
        return subprocess.run(
            [HEADROOM, *run], env=environment, capture_output=True, check=True
        ).stdout

    def provide(self, folder, line):
        """The files that an example reads and nothing before it has written; a run that was cut off
        leaves an empty one."""
        for word in shlex.split(line, comments=True):
            path = folder / word
            if line.startswith(f"headroom report {word}") and not path.suffix:
                path.mkdir(parents=True, exist_ok=True)
                path, word = path / "runs.jsonl", f"{word}/runs.jsonl"
            if re.fullmatch(r"[\w./-]+\.(jsonl|pickle)", word) and not (path.exists() and path.stat().st_size):
                reads = re.search(r"headroom (table|snapshot) .*" + re.escape(word), line)
                if reads or f"--records {word}" not in line:
                    (folder / word).write_bytes(self.records)

    def refused_command(self, folder, line):
        """The line and its last message if it exits with 2. It has no syntax of a shell."""
        self.provide(folder, line)
        words = shlex.split(line)[1:]
        if words[0] == "dryrun" and "--" in words:
            words = [*words[: words.index("--")], "--", "true"]
        try:
            done = subprocess.run(
                [HEADROOM, *words], cwd=folder,
                env={**os.environ, "HEADROOM_CELL": STUB_CELL, "TMPDIR": str(self.temporary)},
                timeout=REFUSAL_SECONDS, check=False, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
        except subprocess.TimeoutExpired:
            return None
        return f"{line}: {done.stderr}" if done.returncode == USAGE else None

    def refused_commands(self, command):
        folder = self.folder / command
        folder.mkdir()
        return [said for line in examples_of_help(command) if (said := self.refused_command(folder, line))]

    def refused(self, lines, name):
        """Those that exit with 2, of lines typed one after another in one folder."""
        folder, notes = self.folder / name, self.folder / (name + ".notes")
        folder.mkdir()
        notes.mkdir()
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "HEADROOM": HEADROOM,
            "HEADROOM_CELL": STUB_CELL,
            "NOTES": str(notes),
            "REFUSAL_SECONDS": str(REFUSAL_SECONDS),
            "TMPDIR": str(self.temporary),
        }
        for line in lines:
            self.provide(folder, line)
            subprocess.run(
                ["bash", "-c", line], cwd=folder, env=environment, timeout=300, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
        said = [note.read_text() for note in notes.iterdir() if not note.suffix]
        self.assertGreaterEqual(len(said), len(lines), "an example did not begin")
        return [text for text in said if text.startswith(f"{USAGE} ")]

    def test_of_documents(self):
        found = {page.name: examples_of(page) for page in DOCUMENTS}
        self.assertGreaterEqual(len(found["README.md"]), 1)
        self.assertGreaterEqual(sum(map(len, found.values())), 12)
        for name, lines in found.items():
            if lines:
                with self.subTest(page=name):
                    self.assertEqual(self.refused(lines, name), [])

    def test_of_help_texts(self):
        names = commands()
        self.assertGreaterEqual(len(names), 9)
        with ThreadPoolExecutor(2) as pool:
            checked = pool.map(self.refused_commands, names)
        self.maxDiff = None
        self.assertEqual(list(itertools.chain(*checked)), [])

    def test_a_bad_one_is_found(self):
        bad = ["headroom profile --model-size smal", "headroom cards | headroom table summary no.csv"]
        self.assertEqual(len(self.refused(bad, "bad")), 2)
        self.assertIn("did you mean small?", self.refused_command(self.folder, bad[0]))
        self.assertIsNone(self.refused_command(self.folder, "headroom cards"))
        self.assertEqual(typed("headroom table a|b FILE [flags]"), [
            "headroom table a step.pickle ", "headroom table b step.pickle "])
        self.assertEqual(list(values("WORD", "how: eager, flash (default eager)")), ["eager"] * 2 + ["flash"])


if __name__ == "__main__":
    HEADROOM, STUB_CELL = (str(Path(path).resolve()) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
