#!/usr/bin/env python3
"""Faults of single ranks under `headroom dryrun`: who it was, and the others end.

usage: rank_faults_test.py HEADROOM

Runs under the Python whose torch the programs use; without one it is skipped (77).
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, at_night  # noqa: E402

HEADROOM = str(Path(sys.argv[1]).absolute())
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
PROGRAM = PROGRAMS / "ranks/rank_faults.py"
LAUNCHER = [sys.executable, "-m", "torch.distributed.run"]
END_SECONDS = 30  # in which the others end; the start of torch's processes comes on top
START_SECONDS = 90  # on a busy machine of two cores


def command(*arguments: str, gpus: int = 2, ranks: int = 2, launch: list[str] | None = None, forks: bool = False):
    """By torchrun, or by a launcher that imports torch once; at night always by torchrun."""
    if forks and not IS_NIGHT:
        forked = [sys.executable, str(PROGRAMS / "processes/forked.py"), str(ranks), str(PROGRAM)]
        return [HEADROOM, "dryrun", "--card", "h100-80gb", f"--gpus={gpus}", "--", *forked, *arguments]
    return [HEADROOM, "dryrun", "--card", "h100-80gb", f"--gpus={gpus}", "--", *LAUNCHER,
            *(launch or ["--standalone"]), f"--nproc-per-node={ranks}", str(PROGRAM), *arguments]


class MemoryLimit:
    """A control group of the kernel's whose processes have so much memory of the host together."""

    def __init__(self, limit: int):
        self.limit = limit

    def __enter__(self) -> MemoryLimit:
        root = Path("/sys/fs/cgroup")
        first = root / "memory" if (root / "memory").is_dir() else root
        limit = "memory.limit_in_bytes" if first != root else "memory.max"
        self.folder = first / f"headroom-test-{os.getpid()}"
        try:
            self.folder.mkdir()
            self.folder.joinpath(limit).write_text(str(self.limit))
        except OSError as error:
            self.__exit__()
            raise unittest.SkipTest(f"no control group to be had: {error}") from error
        return self

    def enter(self) -> None:
        self.folder.joinpath("cgroup.procs").write_text(str(os.getpid()))

    def __exit__(self, *_) -> None:
        for _ in range(50):
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.1)  # until the last process is gone


class RankFaults(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.environment = {**os.environ, "TMPDIR": self.scratch.name}

    def run_to_its_end(self, *arguments: str, **flags):
        began = time.monotonic()
        done = subprocess.run(command(*arguments, **flags), capture_output=True, text=True,
                              timeout=300, cwd=self.scratch.name, env=self.environment)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - began, START_SECONDS + END_SECONDS, done.stderr)
        self.assertEqual(self.left(), [])
        return done.stderr

    def left(self) -> list[str]:
        """Processes of this dry run, and folders of any."""
        mine = [path for path in Path(self.scratch.name).iterdir() if "headroom" in path.name]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = process.joinpath("environ").read_bytes()
                state = process.joinpath("stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if f"TMPDIR={self.scratch.name}\0".encode() in environment and state != "Z":
                mine.append(process)
        return [str(path) for path in mine]

    def test_a_rank_without_memory_is_named_with_its_place_and_what_it_wanted(self):
        said = self.run_to_its_end("memory", forks=True)
        self.assertRegex(said, r"rank 1: out of memory on device 1: 200\.000 GiB wanted at "
                               r"\S*rank_faults\.py:\d+")

    def test_a_rank_that_is_killed_is_named(self):
        said = self.run_to_its_end("killed", forks=True)
        self.assertRegex(said, r"rank 1: .*(left no report: it was killed|was killed before)")

    def test_more_ranks_than_cards_are_said_with_the_flag_that_helps(self):
        said = self.run_to_its_end("waits", "here", gpus=1, forks=True)
        self.assertIn("LOCAL_RANK=1, and this machine has 1 card: give headroom dryrun --gpus 2",
                      said)

    @at_night
    def test_a_port_in_use_is_the_launchers_error(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            said = self.run_to_its_end("waits", "here", launch=[
                "--master-addr=127.0.0.1", f"--master-port={port}"])
        self.assertIn("EADDRINUSE", said)

    def test_an_interrupt_leaves_no_process_and_no_folder(self):
        mark = Path(self.scratch.name, "mark")
        with subprocess.Popen(command("waits", str(mark)), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, cwd=self.scratch.name,
                              env=self.environment, start_new_session=True) as run:
            began = time.monotonic()
            while not all(Path(f"{mark}.{rank}").exists() for rank in (0, 1)):
                self.assertLess(time.monotonic() - began, START_SECONDS)
                time.sleep(0.1)
            started = time.monotonic() - began  # how busy the machine is
            time.sleep(1)  # rank 0 waits by now for what rank 1 never sends
            os.killpg(run.pid, signal.SIGINT)
            began = time.monotonic()
            said = run.communicate(timeout=120)[1]
            self.assertLess(time.monotonic() - began, END_SECONDS + started, said)
        for rank in (0, 1):
            self.assertIn(f"rank {rank} of 2: NCCL, ", said)
        self.assertEqual(self.left(), [])

    def test_a_launcher_that_is_killed_leaves_no_rank(self):
        mark = Path(self.scratch.name, "mark")
        with subprocess.Popen(command("waits", str(mark), forks=True), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, cwd=self.scratch.name,
                              env=self.environment) as run:
            deadline = time.monotonic() + START_SECONDS
            while not all(Path(f"{mark}.{rank}").exists() for rank in (0, 1)):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)
            self.assertEqual(len(launchers := self.children_of(run.pid)), 1)
            os.kill(launchers[0], signal.SIGKILL)
            said = run.communicate(timeout=120)[1]
        self.assertIn("ended by signal 9 (SIGKILL)", said)
        for rank in (0, 1):
            self.assertIn(f"rank {rank} of 2: NCCL, ", said)
        self.assertEqual(self.left(), [])

    @staticmethod
    def children_of(pid: int) -> list[int]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = process.joinpath("stat").read_text()
            except OSError:
                continue
            name, _, rest = words.rpartition(") ")
            if int(rest.split()[1]) == pid and not name.endswith("(headroom-sentry"):
                found.append(int(process.name))
        return found

    def test_a_host_without_memory_for_the_ranks_is_said_and_nothing_stays(self):
        with MemoryLimit(1 << 30) as limit:
            done = subprocess.run(command("memory", gpus=6, ranks=6), capture_output=True, text=True,
                                  timeout=300, cwd=self.scratch.name, env=self.environment,
                                  preexec_fn=limit.enter)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"this host ran out of memory meanwhile: the kernel killed "
                                          r"\d+ process(es)?; ")
            self.assertEqual(self.left(), [])

    @at_night
    def test_two_dry_runs_at_once_do_not_meet(self):
        runs = [subprocess.Popen(command("memory"), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True, cwd=self.scratch.name,
                                 env=self.environment) for _ in range(2)]
        for run in runs:
            said = run.communicate(timeout=300)[1]
            self.assertIn("rank 1: out of memory on device 1", said)
            self.assertNotIn("Duplicate GPU", said)
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
