#!/usr/bin/env python3
"""Host memory that the system refuses, under offload: ulimit -v and a control group's limit. Each
is a row that says whose memory it was, or one line that says which limit leaves no room to begin.

usage: host_limits_test.py HEADROOM
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import at_night  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30
SHAPE = ["--model-size", "custom", "--d-model", "256", "--d-ff", "1024", "--layers", "4", "--heads",
         "4", "--vocab-size", "1000", "--context-length", "256", "--batch-size", "2",
         "--profile-type", "training", "--warmup-steps", "0", "--measure-steps", "1",
         "--record-steps", "0", "--stacks", "none", "--threads", "1", "--optimizer-offload", "cpu",
         "--param-offload", "cpu", "--format", "jsonl"]
LIMIT = r"ulimit -v allows this process [0-9.]+ GiB of addresses"


def run(*flags, addresses=None, before=()):
    """The ended process, its Records, the files that it left."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*before, HEADROOM, *flags[:1], *SHAPE, *flags[1:]], text=True,
                              check=False, capture_output=True, cwd=folder,
                              preexec_fn=limit if addresses else None)
        left = os.listdir(folder)
    return done, [json.loads(line) for line in done.stdout.splitlines()], left


def fewest_addresses(device):
    """Bytes with which a run is well, to 32 MiB; and what came of the run with one step less."""
    few, enough = GIB, (8 if device == "cpu" else 128) * GIB
    while enough - few > 32 * MIB:
        between = (few + enough) // 2
        done, records, left = run("profile", "--device", device, addresses=between)
        if records and records[0]["status"] == "ok":
            enough = between
        else:
            few, refused = between, (done, records[0], left)
    return enough, refused


class HostLimits(unittest.TestCase):
    def refused_by_the_host(self, device):
        """A little less than enough for the step is a row that says what was asked for."""
        enough, (done, record, left) = fewest_addresses(device)
        self.assertGreater(enough, GIB)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(record["status"], "oom")
        self.assertEqual(left, [])
        self.assertEqual(done.stderr.splitlines()[-1], "headroom: oom: " + record["reason"])
        return record["reason"]

    def test_addresses_that_end_in_the_middle_of_a_step_on_the_cpu(self):
        self.assertRegex(self.refused_by_the_host("cpu"),
                         r"^(building the model|measured step 1, \w+): host memory: tried to "
                         r"allocate [0-9.]+ [KM]iB with [0-9.]+ [KMG]?i?B live, and the host "
                         f"refused: {LIMIT}$")

    @at_night
    def test_addresses_that_end_in_the_middle_of_a_step_beside_a_virtual_card(self):
        self.assertRegex(self.refused_by_the_host("virtual:rtx4090"),
                         r"^(building the model|measured step 1, \w+): (pinned host memory for "
                         r"offload: .* more were refused by the host|host memory: tried to "
                         r"allocate .* and the host refused: ulimit -v)")

    def test_a_virtual_card_without_room_for_its_addresses_is_said(self):
        for verb in ("profile", "sweep"):
            done, (record,), left = run(verb, "--device", "virtual:h200", addresses=100 * GIB)
            self.assertEqual(record["status"], "unsupported")
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertRegex(record["reason"],
                             "^--device: 'virtual:h200' cannot reserve its addresses, .*: "
                             f"{LIMIT} .allowed: unlimited, or a smaller card.$")
            self.assertEqual(left, [])

    def test_where_libtorch_finds_no_room_its_place_is_not_blamed(self):
        done, (record,), left = run("profile", "--device", "cpu", addresses=GIB)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(record["status"], "unsupported")
        self.assertRegex(record["reason"], f"failed to map segment.*; {LIMIT}, and libtorch alone "
                         "takes more$")
        self.assertEqual(left, [])

    def in_a_group(self, limit, *flags):
        """As in a control group of either version that leaves `limit` bytes."""
        with tempfile.TemporaryDirectory() as group:
            for name, bytes_of in (("memory.max", limit), ("memory.current", 0),
                                   ("memory/memory.limit_in_bytes", limit),
                                   ("memory/memory.usage_in_bytes", 0)):
                Path(group, name).parent.mkdir(exist_ok=True)
                Path(group, name).write_text(str(bytes_of), encoding="utf-8")
            mounted = f'mount --bind "{group}" /sys/fs/cgroup && exec "$@"'
            unshare = ["unshare", "--mount", "--map-root-user", "bash", "-c", mounted, "bash"]
            if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
                self.skipTest("no mounts of our own here")
            return run(*flags, before=unshare)

    def test_a_control_groups_limit_is_the_hosts(self):
        done, (record,), left = self.in_a_group(40 * MIB, "profile", "--device", "cpu")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(record["status"], "oom")
        self.assertRegex(record["reason"],
                         "^(building the model|measured step 1, .*): host memory: tried to "
                         r"allocate .* live of 36\.000 MiB allowed \(--host-memory\)$")
        self.assertEqual(left, [])

    def test_beside_a_virtual_card_nothing_is_touched_and_no_group_is_asked(self):
        done, (record,), _ = self.in_a_group(40 * MIB, "profile", "--device", "virtual:h200")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(record["status"], "ok")


if __name__ == "__main__":
    HEADROOM = str(Path(sys.argv.pop()).resolve())
    unittest.main()
