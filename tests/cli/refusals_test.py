#!/usr/bin/env python3
"""The example of every refusal can be typed: it is not refused in its turn.

usage: refusals_test.py HEADROOM STUB_CELL [unittest arguments]

Refusals are provoked: each flag that a command's help lists gets values that are wrong in every way
that a value can be, alone and behind each of the words that its help names. An example that is a
command is typed as it stands; one of flags takes the place of those flags in the line that was
refused, and --help names each of them.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
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
# Words that are the beginning of more.
MORE = {
    "device": ["cuda:", "virtual:", "virtual:h200,bytes=", "virtual:h200,"],
    "mesh": ["dp=", "dp=2,tp="],
    "vary": ["batch=", "context="],
    "activations": ["int8:block=", "int8:min="],
    "checkpoint": ["every:", "blocks:"],
    "disk-rate": ["1GB/"],
}


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
        self.environment = {**os.environ, "HEADROOM_CELL": STUB_CELL}
        record = self.typed(
            ["profile", "--model-size", "small", "--device", "virtual:h200", "--format", "json"], 60
        )[1]
        (self.folder / "records.jsonl").write_text(record)
        (self.folder / "step.pickle").write_text("")

    def typed(self, words, seconds=1.0):
        """Exit code, stdout, stderr; what still runs after a second was not refused."""
        try:
            done = subprocess.run(
                [HEADROOM, *words],
                cwd=self.folder,
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

    def lines(self, command):
        """Every line that is tried of a command, with the flag that may be refused."""
        text = help_of(command, "--help")
        for flag, takes, words in flags(text):
            base = without(BASE.get(command, "").split(), "--" + flag)
            known = list(dict.fromkeys(values(takes, words)))[:3] + MORE.get(flag, [])
            for value in [*WRONG, *(word + more for word in known for more in BEHIND)]:
                line = [command, *base, f"--{flag}={value}"]
                yield flag, line + (["--", "true"] if command == "dryrun" else [])
            twice = [f"--{flag}"] if not takes else [f"--{flag}={known[0]}"] if known else []
            if twice:
                yield flag, [command, *base, *twice, *twice]

    def judge(self, command):
        tried, faults = set(), []
        known = {name for name, _, _ in flags(help_of(command, "--help"))} | {"help"}
        for flag, line in self.lines(command):
            code, out, err = self.typed(line)
            if code != USAGE:
                continue
            if len(err.splitlines()) != 1 or out:
                faults.append(f"{' '.join(line)}: not one line: {err[:300]}")
            example = re.search(r"[ (]example: (.*?)\)?$", err)
            if example is None:
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
            if code == USAGE and not re.search(r"cannot (be )?read|No such file", again):
                faults.append(
                    f"{' '.join(line)}\n   said: {err.strip()[-250:]}\n"
                    f"   tried: {' '.join(words)}\n   which: {again.strip()[:300]}"
                )
        return len(tried), faults

    def test_examples_can_be_typed(self):
        with ThreadPoolExecutor(2) as pool:
            judged = list(pool.map(self.judge, commands()))
        print("examples tried:", sum(count for count, _ in judged))
        self.assertGreater(sum(count for count, _ in judged), 100)
        faults = [fault for _, faults in judged for fault in faults]
        print("\n".join(faults))
        self.assertEqual(len(faults), 0)


if __name__ == "__main__":
    HEADROOM, STUB_CELL = (str(Path(path).resolve()) for path in sys.argv[1:3])
    examples_test.HEADROOM = HEADROOM
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
