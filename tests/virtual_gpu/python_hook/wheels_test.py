#!/usr/bin/env python3
"""A PyTorch that cannot be dry run is refused in one line, exit code 5; its packages here are a few lines each.

usage: wheels_test.py HEADROOM
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TORCH = """
__version__ = {version!r}
class version:
    cuda, hip = {cuda!r}, {hip!r}
"""


def run(torch: str) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "torch").mkdir()
        (Path(folder) / "torch" / "__init__.py").write_text(torch)
        code = f"import sys; sys.path.insert(0, {folder!r}); import torch; print('it ran')"
        command = [HEADROOM, "dryrun", "--card", "a10g", "--", sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if line.startswith("headroom dryrun: torch")]
    return done.returncode, [*said, done.stdout.strip()]


class Wheels(unittest.TestCase):
    def refused(self, expected: str, **torch):
        code, (line, out) = run(TORCH.format(**{"cuda": None, "hip": None, **torch}))
        self.assertEqual((code, out), (5, ""))
        self.assertRegex(line, expected)
        self.assertRegex(line, "; supported: PyTorch 2.4 and newer for CUDA 12 or 13")

    def test_a_wheel_that_has_no_cuda_or_another_one_or_is_too_old(self):
        self.refused(r"torch 2\.8\.0\+cpu is built for the CPU, without CUDA", version="2.8.0+cpu")
        self.refused(r"2\.8\.0\+rocm6\.4 is built for ROCm", version="2.8.0+rocm6.4", hip="6.4")
        self.refused(r"torch 2\.6\.0\+cu118 is built for CUDA 11\.8", version="2.6.0+cu118", cuda="11.8")
        self.refused(r"torch 2\.19\.0\+cu140 is built for CUDA 14\.0", version="2.19.0+cu140", cuda="14.0")
        self.refused(r"torch 2\.3\.1\+cu121 is too old", version="2.3.1+cu121", cuda="12.1")

    def test_one_whose_libraries_are_missing(self):
        code, (line, out) = run("import ctypes\nctypes.CDLL('libcudart.so.12')\n")
        self.assertEqual((code, out), (5, ""))
        self.assertRegex(line, r"^headroom dryrun: torch in /.*/torch is not whole: no libcudart\.so\.12; install it")


if __name__ == "__main__":
    HEADROOM = sys.argv.pop()
    unittest.main()
