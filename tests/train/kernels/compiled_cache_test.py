#!/usr/bin/env python3
"""The cache of compiled regions, with a compiler that writes anything: what is used, and what never.

usage: compiled_cache_test.py HEADROOM STUB_CELL
"""

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HEADROOM = Path(sys.argv[1]).resolve()
STUB_CELL = Path(sys.argv[2]).resolve()

# Called as the Python is: SCRIPT FOLDER < SETTINGS. Lists its processes, waits where it is told to.
COMPILER = """#!/bin/bash
folder=${@: -1}
echo "$$" >> "$CALLS"
if [[ -e "$WAIT_FOR" ]]; then read -r _ < "$WAIT_FOR"; fi
for file in forward.so backward.so region.json; do echo "$RANDOM" > "$folder/$file"; done
"""


class Cache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.calls = self.folder / "calls"
        self.gate = self.folder / "gate"
        self.kernels = self.folder / "cache" / "headroom" / "kernels"
        self.compiler = self.written("compiler", COMPILER)

    def written(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def start(self, *flags, compiler=None, command="profile", device="cpu"):
        return subprocess.Popen(
            [HEADROOM, command, "--model-size", "small", "--context-length", "32", "--profile-type",
             "training", "--device", device, "--kernels", "compiled", *flags],
            env={**os.environ, "HEADROOM_CELL": str(STUB_CELL), "CALLS": str(self.calls),
                 "WAIT_FOR": str(self.gate), "HEADROOM_PYTHON": str(compiler or self.compiler),
                 "XDG_CACHE_HOME": str(self.folder / "cache")},
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_to_end(self, *flags, code=0, **how):
        process = self.start(*flags, **how)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, code, errors)
        return errors

    def count(self):
        return len(self.calls.read_text(encoding="utf-8").splitlines()) if self.calls.exists() else 0

    def regions(self):
        return sorted(path for path in self.kernels.iterdir() if path.suffix == "")

    def wait_for_a_call(self):
        while self.count() == 0:
            time.sleep(0.01)

    def test_a_shape_is_compiled_once(self):
        self.assertIn("compiling block", self.run_to_end())
        self.assertEqual(self.count(), 2)  # the block, and the head with its loss
        self.assertEqual(len(self.regions()), 2)
        self.assertNotIn("compiling", self.run_to_end("--seed", "7"))
        self.assertEqual(self.count(), 2)

    def test_another_shape_is_compiled_again(self):
        self.run_to_end()
        self.run_to_end("--precision", "bf16")
        self.assertEqual(self.count(), 4)

    def test_a_sweep_compiles_each_shape_before_its_cells(self):
        errors = self.run_to_end("--optimizer", "adamw,sgd", "--batch-size", "1,2", command="sweep")
        self.assertEqual(self.count(), 4)
        lines = errors.splitlines()
        last = max(i for i, line in enumerate(lines) if "compiling" in line)
        self.assertFalse([line for line in lines[:last] if "step" in line], errors)

    def test_memory_of_a_virtual_card_does_not_limit_the_compiler(self):
        limit = self.folder / "limit"
        compiler = self.written("limited", COMPILER + f'echo "$HEADROOM_VIRTUAL_CARD" > {limit}\n')
        self.run_to_end(device="virtual:h200", compiler=compiler)
        total_bytes = re.search(r"total_bytes=(\d+)", limit.read_text(encoding="utf-8"))
        self.assertGreater(int(total_bytes.group(1)), 1 << 40)

    def test_two_processes_compile_it_once(self):
        os.mkfifo(self.gate)
        both = [self.start(), self.start()]
        self.wait_for_a_call()
        with open(self.gate, "w", encoding="utf-8") as gate:
            gate.write("go\n")
        self.gate.unlink()
        for process in both:
            _, errors = process.communicate()
            self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(self.count(), 2)

    def test_a_kill_leaves_nothing_that_is_used(self):
        os.mkfifo(self.gate)
        process = self.start()
        self.wait_for_a_call()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        os.kill(int(self.calls.read_text(encoding="utf-8")), signal.SIGKILL)  # it outlives its parent
        self.gate.unlink()
        self.assertFalse([path for path in self.regions() if (path / "files.json").exists()])
        self.run_to_end()
        self.assertEqual(self.count(), 3)  # the one that was killed, then both
        self.assertFalse(list(self.kernels.glob("*.unfinished")))

    def test_a_damaged_file_is_compiled_again(self):
        self.run_to_end()
        for damage in (b"", b"\x7fELF of another"):
            [library] = self.kernels.glob("block-*/backward.so")
            library.write_bytes(damage)
            before = self.count()
            self.run_to_end()
            self.assertEqual(self.count(), before + 1)
            self.assertNotEqual(library.read_bytes(), damage)

    def test_a_compiler_that_fails_says_why(self):
        for script, reason in (
                ("echo 'OSError: Read-only file system' >&2\nexit 1", "OSError: Read-only file system"),
                # The lines of g++ and of Python on a full disk.
                ("echo '/usr/bin/ld: final link failed: No space left on device' >&2\n"
                 "echo 'InductorError: CppCompileError: C++ compile error' >&2\nexit 1",
                 "/usr/bin/ld: final link failed: No space left on device"),
                ("exit 1", "exit code 1"),
                ("kill -9 $$", "killed by signal 9 (SIGKILL)")):
            compiler = self.written("fails", f"#!/bin/bash\n{script}\n")
            errors = self.run_to_end(code=5, compiler=compiler)
            self.assertIn(f"the compiler failed: {reason}\n", errors)
            self.assertFalse([path for path in self.regions() if path.is_dir()])

    def test_a_compiler_that_writes_less_is_not_believed(self):
        compiler = self.written("less", "#!/bin/bash\ntouch \"${@: -1}/forward.so\"\n")
        self.assertIn("backward.so", self.run_to_end(code=5, compiler=compiler))

    def test_without_a_python_the_line_says_what_repairs_it(self):
        errors = self.run_to_end(code=5, compiler=self.folder / "none")
        self.assertIn("./scripts/setup.sh", errors)
        self.assertIn("HEADROOM_PYTHON", errors)

    def test_what_does_not_run_compiled_is_refused(self):
        for flag, value in (("--precision", "fp8"), ("--attention", "flash")):
            errors = self.run_to_end(flag, value, code=2)
            self.assertIn("--kernels compiled", errors)
        self.assertEqual(self.count(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
