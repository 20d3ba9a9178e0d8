#!/usr/bin/env python3
"""The example of every refusal can be typed: it is not refused in its turn.

usage: refusals_test.py HEADROOM STUB_CELL [unittest arguments]

Refusals are provoked: each flag that a command's help lists gets values that are wrong in every way
that a value can be, alone and behind each of the words that its help names; it stands without a
value, and twice. An example that is a command is typed as it stands; one of flags takes the place
of those flags in the line that was refused, and --help names each of them.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import examples_test
from examples_test import commands, flags, help_of, values

HEADROOM = STUB_CELL = ""
USAGE = 2
WRONG = [
    "",
    "x",
    "-1",
    "0",
    "x,y",
    "1,,2",
    ",",
    "1e999",
    "99999999999999999999",
    "a=b",
    "=",
    ":",
    "true",
    "0.5x",
    "14.5.1GiB",
    "2:x",
    "x:y",
    "nan",
    "1,2",
]
BEHIND = ["x", ",", ",x", ",x=1", "=x", ":x", ":", ":0", ",bytes=x", ":-1", ":x=1", ",,"]
# A line of each command on which the flag stands that is tried.
BASE = {
    **examples_test.BASE,
    "profile": "--model-size small --profile-type training --device virtual:h200",
    "sweep": "--model-size small --profile-type training --device virtual:h200 --records new.jsonl",
    "theory": "--model-size small --profile-type training",
    "rlhf": "",
    "budget": "--card h200 --model-size 7b",
    "cards": "h200",
    "fit": "--card h200 --model-size small --batch-size 4 --context-length 512",
}
# A flag that says in other words what one of BASE says: that one is left out beside it.
INSTEAD_OF = {"gpu-memory": "--card", "global-batch-size": "--batch-size", "config": "--model-size"}
# A file that the example names and that is not there: not the fault of the example.
NO_FILE = r"cannot (be )?read|No such file|(is no directory|contains no complete checkpoint); allowed"
# Commands of which hardly a line runs for as long as typed() waits.
QUICK = ["profile", "sweep", "theory", "table", "snapshot", "budget", "dryrun", "cards"]
# Words that are the beginning of more.
MORE = {
    "device": ["cuda:", "virtual:", "virtual:h200,bytes=", "virtual:h200,"],
    "mesh": ["dp=", "dp=2,tp="],
    "vary": ["batch=", "context="],
    "activations": ["int8:block=", "int8:min="],
    "checkpoint": ["every:", "blocks:"],
    "disk-rate": ["1GB/"],
}


def optional(text):
    """Switches that take a value only behind an equals sign."""
    return re.findall(r"^  --([a-z-]+)\[=", text, re.MULTILINE)


def without(words, flag):
    """A line without a flag and its value."""
    kept, skip = [], False
    for word in words:
        if word == flag:
            skip = True
        elif skip and not word.startswith("--"):
            skip = False
        else:
            skip = False
            kept.append(word)
    return kept


class Refusals(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        temporary = self.folder / "tmp"  # of runs that are killed, which leave their folders
        temporary.mkdir()
        self.environment = {**os.environ, "HEADROOM_CELL": STUB_CELL, "TMPDIR": str(temporary)}
        run = ["profile", "--model-size", "small", "--device", "virtual:h200", "--format", "json"]
        (self.folder / "profile").mkdir()
        record = self.typed(run, 60)[1]
        for command in commands():  # what one writes is not read by the others
            folder = self.folder / command
            folder.mkdir(exist_ok=True)
            (folder / "records.jsonl").write_text(record)
            (folder / "step.pickle").write_text("")

    def typed(self, words, seconds=1.0):
        """Exit code, stdout, stderr; what still runs after a second was not refused."""
        try:
            done = subprocess.run(
                [HEADROOM, *words],
                cwd=self.folder / words[0],
                env=self.environment,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 0, "", ""
        return done.returncode, done.stdout, done.stderr

    def lines(self, command, wrong):
        """Every line that is tried of a command, with the flag that may be refused."""
        text = help_of(command, "--help")
        end = ["--", "true"] if command == "dryrun" else []
        for flag, takes, words in [*flags(text), *((name, "", "") for name in optional(text))]:
            base = without(BASE.get(command, "").split(), "--" + flag)
            base = [command, *without(base, INSTEAD_OF.get(flag, ""))]
            known = list(dict.fromkeys(values(takes, words)))[:3]
            behind = [word + more for word in [*known, *MORE.get(flag, [])] for more in BEHIND]
            for value in wrong if wrong != WRONG else [*WRONG, *behind]:
                yield flag, [*base, f"--{flag}={value}", *end]
            once = [f"--{flag}={known[0]}" if takes else f"--{flag}"] if known or not takes else []
            # Twice is the fault of a line that is none with the flag once.
            if once and wrong is WRONG and self.typed([*base, *once, *end])[0] != USAGE:
                yield flag, [*base, *once, *once, *end]
                if takes:
                    yield flag, [*base, f"--{flag}=x", f"--{flag}=x", *end]
            if takes:
                yield flag, [*base, f"--{flag}", *end]
                yield flag, [*base, f"--{flag}", "--help-me", *end]

    def judge(self, command, wrong=None):
        wrong = wrong or WRONG
        tried, faults = set(), []
        text = help_of(command, "--help")
        known = {name for name, _, _ in flags(text)} | set(optional(text)) | {"help"}
        for flag, line in self.lines(command, wrong):
            code, out, err = self.typed(line)
            if code != USAGE:
                if f"--{flag}=" in line:
                    faults.append(f"{' '.join(line)}: taken, with exit {code}")
                continue
            if len(err.splitlines()) != 1 or out:
                faults.append(f"{' '.join(line)}: not one line: {err[:300]}")
            example = re.search(r"[ (]example: (.*?)\)?$", err)
            if example is None:
                if not re.search(NO_FILE, err):
                    faults.append(f"{' '.join(line)}: no example: {err[:300]}")
                continue
            if (flag, example[1]) in tried:
                continue
            tried.add((flag, example[1]))
            words = example[1].split()
            if words[0] == "headroom":
                words = words[1:]
            elif words[0].startswith("--"):
                for word in words:
                    if word.startswith("--") and word[2:].split("=")[0] not in known:
                        faults.append(f"{' '.join(line)}: no flag of {command}: {example[1]}")
                kept = line
                for word in [*words, "--" + flag]:
                    if word.startswith("--"):
                        kept = [
                            part for part in without(kept, word) if not part.startswith(word + "=")
                        ]
                words = [kept[0], *words, *kept[1:]]
            else:
                faults.append(f"{' '.join(line)}: neither a command nor flags: {example[1]}")
                continue
            code, _, again = self.typed(words)
            if code == USAGE and not re.search(NO_FILE, again):
                faults.append(
                    f"{' '.join(line)}\n   said: {err.strip()[-250:]}\n"
                    f"   tried: {' '.join(words)}\n   which: {again.strip()[:300]}"
                )
        return len(tried), faults

    def all_good(self, judged, least):
        print("examples tried:", sum(count for count, _ in judged))
        self.assertGreater(sum(count for count, _ in judged), least)
        faults = [fault for _, faults in judged for fault in faults]
        print("\n".join(faults))
        self.assertEqual(len(faults), 0)

    def test_examples_can_be_typed(self):
        with ThreadPoolExecutor(2) as pool:
            self.all_good(list(pool.map(self.judge, commands())), 500)

    def test_examples_of_empty_and_missing_values_can_be_typed(self):
        self.all_good([self.judge(command, [""]) for command in QUICK], 200)


if __name__ == "__main__":
    HEADROOM, STUB_CELL = (str(Path(path).resolve()) for path in sys.argv[1:3])
    examples_test.HEADROOM = HEADROOM
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
