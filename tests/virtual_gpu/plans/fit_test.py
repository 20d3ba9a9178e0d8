#!/usr/bin/env python3
"""headroom fit on virtual cards: its answers are what `headroom profile` finds, one step beyond included.

usage: fit_test.py HEADROOM ALLOCATE [unittest arguments]
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, at_night  # noqa: E402
from processes import SOON, until  # noqa: E402

HEADROOM = ALLOCATE = ""
SHAPE = ("--model-size custom --d-model 512 --d-ff 1408 --layers 4 --heads 8 --kv-heads 8 --vocab-size 8192").split()
DEEPER = [word if word != "4" else "8" for word in SHAPE]
RUN = [*SHAPE, "--context-length", "256"]
CARD = ["--card", "rtx4090", "--bytes", "1GiB"]
FEW = ["--allow", "checkpoint,optimizer-8bit,release-gradients,attention,alloc-conf"]


def fit(*arguments, folder=None):
    return subprocess.run([HEADROOM, "fit", *arguments], capture_output=True, text=True, cwd=folder, check=False)


def interrupted(*arguments, folder, after_lines, begun=""):
    """fit with ^C when it has said so many lines and there is the file `begun`: exit code, stdout, stderr."""
    with subprocess.Popen([HEADROOM, "fit", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=folder) as process:
        for _ in range(after_lines):
            process.stderr.readline()
        until(lambda: Path(folder, begun).exists(), "begins the next run")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SOON)
    return process.returncode, out, err


def answers_of(done):
    return json.loads(done.stdout)["answers"]


def profiled(command):
    """The Record of a command that fit printed."""
    words = shlex.split(command)
    done = subprocess.run(
        [HEADROOM, *words[1:], "--format", "json"], capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout)


class Fit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, answers):
        """The last (at night the first too), and what is beyond it, typed as printed."""
        self.assertTrue(answers)
        for answer in [answers[-1], *answers[:IS_NIGHT]]:
            record = profiled(answer["command"])
            self.assertEqual(record["status"], "ok")
            self.assertEqual(record["peak_allocated_bytes"], answer["peak_allocated_bytes"])
            if answer["beyond"]:
                self.assertEqual(profiled(answer["beyond"]["command"])["status"], "oom")

    def test_the_cheapest_sets_are_what_profile_finds_and_are_not_run_again(self):
        question = [*CARD, *RUN, "--batch-size", "8", *FEW, "--records", "fit.jsonl"]
        done = fit(*question, "--format", "json", "--output", "fit.svg", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = answers_of(done)
        self.check(answers)
        peaks = [answer["peak_allocated_bytes"] for answer in answers]
        self.assertEqual(peaks, sorted(peaks, reverse=True))
        for answer in answers:
            self.assertEqual(
                answer["margin_bytes"], (1 << 30) - (384 << 20) - answer["peak_allocated_bytes"]
            )
        drawing = xml.etree.ElementTree.parse(self.folder / "fit.svg").getroot()
        self.assertTrue(drawing.tag.endswith("svg"))
        rows = len((self.folder / "fit.jsonl").read_text().splitlines())
        again = fit(*question, "--format", "json", folder=self.folder)
        self.assertEqual(again.stdout, done.stdout)
        self.assertEqual(len((self.folder / "fit.jsonl").read_text().splitlines()), rows)
        table = fit(*question, folder=self.folder).stdout
        self.assertIn("Cheapest sets that fit: custom on rtx4090, batch 8, context 256", table)
        self.assertIn(answers[0]["command"], " ".join(table.replace("\\\n", " ").split()))

    def test_theory_and_card_agree_where_the_allocator_is_as_it_is(self):
        done = fit(*CARD, *RUN, "--forbid", "alloc-conf,fp8-products,other-optimizer", "--answers",
                   "3", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["notes"], [], "the rehearsal counts pieces of free memory too")
        self.check(document["answers"])

    def test_theory_and_card_agree_where_more_memory_is_worse(self):
        question = ("--model-size small --layers 2 --context-length 64 --batch-size 4 --warmup-steps 6 "
                    "--allow recompute --answers 1 --format json").split()
        context = 384
        for room, fits in ((799, True), (801, False), (795, False), (807, True))[: 4 if IS_NIGHT else 2]:
            document = json.loads(fit("--card", "rtx4090", "--bytes", f"{room + context}MiB", *question).stdout)
            self.assertEqual(document["notes"], [], "the rehearsal counts pieces of free memory too")
            self.assertEqual(document["answers"][0]["names"] == [], fits, room)

    def test_what_goes_to_the_host_is_pinned_as_it_is_foretold(self):
        done = fit("--card", "rtx4090", "--bytes", "1200MiB", *DEEPER, "--context-length", "256", "--batch-size", "8",
                   "--optimizer", "adam8bit", "--allow", "activation-offload,activations", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = answers_of(done)
        sent = [answer for answer in answers if "activation-offload" in answer["techniques"]]
        self.assertTrue(sent)
        for answer in sent:
            self.assertGreater(answer["predicted_host_bytes"], 0)
            record = profiled(answer["command"].replace("--record-steps 0", "--record-steps 1"))
            pinned = record["spaces"]["host_pinned"]["peak_allocated_bytes"]
            self.assertEqual(pinned, answer["predicted_host_bytes"])
        self.check(answers)

    def test_the_largest_context_is_beside_one_that_does_not_fit(self):
        done = fit(*CARD, *SHAPE, "--batch-size", "4", "--allow", "attention", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = answers_of(done)
        self.check(answers)
        self.assertIn(f"--context-length {answers[0]['context_length'] + 1} ", answers[0]["beyond"]["command"])

    def test_the_smallest_card_of_a_list_is_found_whatever_their_order(self):
        question = ["--model-size", "xl", "--batch-size", "1", "--context-length", "128", "--allow", "attention"]
        done = fit("--card", "h200,rtx4090,a100-40gb", *question, "--format", "json")
        document = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(document["card"]["name"], "a100-40gb")
        self.assertEqual([card["name"] for card in document["smaller_cards"]], ["rtx4090"])
        nearest = document["smaller_cards"][0]["nearest"]
        self.assertGreater(nearest["short_by_bytes"], 0)
        self.assertEqual(profiled(nearest["command"])["status"], "oom")

    def test_where_nothing_fits_it_says_what_is_short_and_by_how_much(self):
        done = fit("--card", "rtx4090", "--bytes", "420MiB", *RUN, "--batch-size", "1", *FEW)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stdout, r"NOTHING FITS: .* needs least, and the card's memory is short by \d+\.\d+ MiB")
        self.assertIn("optimizer state", done.stdout)

    def test_sets_that_keep_more_on_the_host_than_they_may_are_out(self):
        question = ["--card", "rtx4090", "--bytes", "570MiB", *RUN, "--batch-size", "1", "--allow",
                    "optimizer-offload,checkpoint", "--format", "json"]
        done = fit(*question)
        self.assertEqual(done.returncode, 0, done.stderr)
        needed = min(answer["predicted_host_bytes"] for answer in answers_of(done))
        self.assertGreater(needed, 0, "this card is too small without")
        enough = fit(*question, "--host-memory", str(needed))
        self.assertEqual(enough.returncode, 0, enough.stderr)
        short = fit(*question, "--host-memory", str(needed - (1 << 20)))
        self.assertEqual(short.returncode, 4, short.stderr)
        self.assertRegex(short.stderr, r"headroom: nothing fits: with optimizer offload.* the card would have room, "
                                       r"and host memory is short by 1\.000 MiB: .* needed, --host-memory ")
        nearest = json.loads(short.stdout)["nearest"]
        self.assertEqual((nearest["status"], nearest["host_short_by_bytes"]), ("oom", 1 << 20))
        self.assertIn("host memory", profiled(nearest["command"])["reason"])
        table = fit(*question[:-2], "--host-memory", str(needed - (1 << 20)))
        self.assertIn("NOTHING FITS: with optimizer offload", table.stdout)
        self.assertIn("pinned memory", table.stdout)

    def test_a_run_that_ended_well_without_a_limit_does_not_prove_one(self):
        question = ["--card", "rtx4090", "--bytes", "570MiB", *RUN, "--batch-size", "1", "--allow",
                    "optimizer-offload,checkpoint", "--format", "json", "--records", "fit.jsonl"]
        first = fit(*question, folder=self.folder)
        needed = answers_of(first)[0]["predicted_host_bytes"]
        limited = [*question, "--host-memory", str(needed + (1 << 20))]
        second = fit(*limited, folder=self.folder)
        answer = answers_of(second)[0]
        self.assertIn("--host-memory ", answer["command"])
        rows = [json.loads(row) for row in (self.folder / "fit.jsonl").read_text().splitlines()]
        held_to = {row["environment"]["cell"]["host_memory_bytes"] for row in rows
                   if row["environment"]["key"] == answer["key"]}
        self.assertEqual(held_to, {0, needed + (1 << 20)})
        self.assertEqual(fit(*limited, folder=self.folder).stdout, second.stdout)
        self.assertEqual(len((self.folder / "fit.jsonl").read_text().splitlines()), len(rows))

    @at_night
    def test_a_disk_answers_what_the_host_has_no_room_for(self):
        question = ["--card", "rtx4090", "--bytes", "570MiB", *RUN, "--batch-size", "1", "--allow",
                    "optimizer-offload,param-offload,checkpoint", "--format", "json"]
        on_host = answers_of(fit(*question))[0]
        self.assertNotIn("predicted_disk_bytes", on_host)
        limit = ["--host-memory", str(on_host["predicted_host_bytes"] - (1 << 20))]
        self.assertEqual(fit(*question, *limit).returncode, 4)
        done = fit(*question, *limit, "--disk", str(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = answers_of(done)
        self.assertEqual(answers[0]["names"], ["optimizer offload to disk", "checkpoint full"])
        self.assertIn(f"--optimizer-offload nvme:{self.folder} ", answers[0]["command"])
        record = profiled(answers[0]["command"])
        self.assertEqual(record["predicted"]["disk_bytes"], answers[0]["predicted_disk_bytes"])
        self.assertEqual(answers[0]["beyond"]["what"], "optimizer offload")
        self.assertGreater(answers[0]["beyond"]["host_short_by_bytes"], 0)
        self.assertIn("(--host-memory)", profiled(answers[0]["beyond"]["command"])["reason"])
        self.assertEqual(os.listdir(self.folder), [], "a virtual card's files are counted")
        table = fit(*question[:-2], *limit, "--disk", str(self.folder)).stdout
        self.assertIn("disk", table.splitlines()[1])

    def test_a_disk_that_will_not_do_is_refused_before_anything_runs(self):
        done = fit(*CARD, *RUN, "--batch-size", "1", "--disk", str(self.folder / "missing"))
        self.assertEqual((done.returncode, done.stdout), (5, ""), done.stderr)
        self.assertRegex(done.stderr, "^headroom: .*missing.*\n$")

    def test_cells_that_cannot_start_end_the_search_at_once(self):
        folder = self.folder
        (folder / "starts").write_text(f"""#!/bin/sh
case "$1" in --serve) exit 7 ;; --*) exec '{Path(HEADROOM).parent / "headroom-cell"}' "$@" ;; esac
echo run >> '{folder}/runs'
echo bad luck >&2
exit 7
""")
        (folder / "starts").chmod(0o755)
        question = ["fit", *CARD, *RUN, "--batch-size", "1", *FEW]
        for cell, code, line in (("missing", 5, "cannot run missing"), ("/bin/false", 5, "/bin/false"),
                                 ("starts", 4, "no cell runs: failed: exit code 7: bad luck")):
            cell = str(folder / cell) if cell == "starts" else cell
            done = subprocess.run([HEADROOM, *question], capture_output=True, text=True, check=False,
                                  env=os.environ | {"HEADROOM_CELL": cell})
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(line, done.stderr.splitlines()[-1])
        self.assertLessEqual(len((folder / "runs").read_text().splitlines()), 3)

    def test_what_is_known_is_printed_at_an_interrupt(self):
        code, out, err = interrupted(*CARD, *RUN, "--format", "json", "--records", "fit.jsonl", folder=self.folder,
                                     after_lines=3)
        self.assertEqual(code, 130, err)
        document = json.loads(out)
        self.assertTrue(document["interrupted"])
        self.assertTrue(document["answers"])
        rows = [json.loads(row) for row in (self.folder / "fit.jsonl").read_text().splitlines()]
        self.assertGreaterEqual(len(rows), 3)
        self.assertTrue(all(row["status"] in ("ok", "oom") for row in rows))

    def test_the_largest_value_of_a_program_is_found(self):
        program = ["sh", "-c", f'exec "{ALLOCATE}" $(({{mib}} * 1048576))']
        done = fit("--card", "rtx4090", "--bytes", "1GiB", "--vary", "mib=639..641", "--format", "csv", "--", *program)
        self.assertEqual(done.returncode, 0, done.stderr)
        row = done.stdout.splitlines()[1].split(",")
        self.assertEqual(row[:2], ["as it is", "640"])  # 1024 less the context's 384
        self.assertIn("out of memory", done.stdout)

    @at_night
    def test_every_value_of_a_program_may_fit_or_none(self):
        program = ["sh", "-c", f'exec "{ALLOCATE}" $(({{mib}} * 1048576))']
        card = ("--card", "rtx4090", "--bytes", "1GiB")
        done = fit(*card, "--vary", "mib=600..601", "--format", "csv", "--", *program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row.split(",")[:2] for row in done.stdout.splitlines()[1:]], [["as it is", "601"]])
        self.assertIn("the range ends", done.stdout)
        done = fit(*card, "--vary", "mib=700..900", "--", *program)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1],
                         "^headroom: nothing fits: mib 700: out of memory, 700.000 MiB wanted")

    def test_advice_for_a_program_that_ran_out_of_memory_is_what_fits(self):
        program = ["sh", "-c", f'exec "{ALLOCATE}" $(({{mib}} * 1048576))']
        done = subprocess.run([HEADROOM, "dryrun", "--card", "rtx4090", "--bytes", "1GiB", "--try-advice", "--vary",
                               "mib=640..641", "--json", "run.json", "--", *program], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0, done.stderr)  # the program's own
        fits = [line for line in done.stderr.splitlines() if line.startswith("fits with ")]
        self.assertEqual([line.rsplit(":", 1)[0] for line in fits], ["fits with mib 640"], done.stderr)
        advice = json.loads((self.folder / "run.json").read_text())["advice"]
        self.assertEqual([one["change"] for one in advice["fits"]], ["mib 640"])
        self.assertGreater(advice["runs"], len(advice["fits"]))

    def test_the_place_may_be_in_the_programs_name(self):
        for n in (1, 2):
            (self.folder / f"run{n}").write_text("#!/bin/sh\nexit 0\n")
            (self.folder / f"run{n}").chmod(0o755)
        done = fit("--card", "rtx4090", "--vary", "n=1..2", "--", f"{self.folder}/run{{n}}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("NO USE OF CUDA", done.stdout)

    @at_night
    def test_an_interrupt_of_a_program_keeps_what_is_known(self):
        # Whatever the program makes of it: the third ends well at the signal.
        program = ["sh", "-c", "test {n} -lt 4 || { trap 'exit 0' INT; touch begun; sleep 600 & wait; }"]
        code, out, err = interrupted("--card", "rtx4090", "--vary", "n=1..100", "--", *program, folder=self.folder,
                                     after_lines=2, begun="begun")
        self.assertEqual(code, 130, err)
        self.assertRegex(out, r"as it is\s+2 ")
        self.assertIn("INTERRUPTED", out)
        self.assertEqual(err.splitlines()[-1], "headroom: interrupted")

    def test_a_program_that_is_killed_is_told_apart(self):
        done = fit("--card", "rtx4090", "--vary", "n=1..9", "--", "sh", "-c", "test {n} -lt 3 || kill -KILL $$")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("failed for another reason than memory: n 4: ended by signal 9", done.stderr)
        done = fit("--card", "rtx4090", "--vary", "n=1..9", "--", "sh", "-c", "test {n} -lt 3 || kill -TERM $$")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("failed for another reason than memory: n 4: ended by signal 15", done.stderr)

    def test_a_program_that_fails_for_another_reason_is_told_apart(self):
        program = ["sh", "-c", "test {n} -lt 5 || { echo bad luck; exit 7; }"]
        done = fit("--card", "rtx4090", "--vary", "n=1..100", "--", *program)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("failed for another reason than memory: n 8: exit code 7: bad "
                      "luck", done.stderr)
        self.assertNotIn("expandable", done.stdout)
        done = fit("--card", "rtx4090", "--vary", "n=5..100", "--", *program)
        self.assertEqual(done.returncode, 4, done.stderr)


if __name__ == "__main__":
    HEADROOM, ALLOCATE = (os.path.realpath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
