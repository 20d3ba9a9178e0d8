#!/usr/bin/env python3
"""Programs of other CUDA versions, without any of their wheels: an empty library has the name of their runtime.

usage: runtimes_test.py HEADROOM FAKE_RUNTIME.so CONDA_PROGRAM.so
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# Opens the runtime and asks the stand-in, which is in front of it, as a program of that CUDA does.
PROGRAM = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])
cuda = ctypes.CDLL(None)
version, driver = ctypes.c_int(), ctypes.c_int()
assert cuda.cudaRuntimeGetVersion(ctypes.byref(version)) == 0
assert cuda.cudaDriverGetVersion(ctypes.byref(driver)) == 0
def properties(function):
    block = (ctypes.c_ubyte * 2048)(*([7] * 2048))
    assert function(block, 0) == 0
    data = bytes(block)
    used = len(data.rstrip(b"\\x07"))
    return used, int.from_bytes(data[360:364], "little"), int.from_bytes(data[356:360], "little")
stream, status, number = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_ulonglong(3)
assert cuda.cudaStreamCreate(ctypes.byref(stream)) == 0
assert cuda.cudaStreamBeginCapture(stream, 2) == 0
# Registers that a function of three arguments does not set.
beyond = [ctypes.c_void_p(8)] * 4 if version.value < 13000 else [None] * 4
assert cuda.cudaStreamGetCaptureInfo(stream, ctypes.byref(status), ctypes.byref(number), *beyond) == 0
print(version.value, driver.value, status.value, number.value > 3 or number.value < 3,
      *properties(cuda.cudaGetDeviceProperties), *properties(cuda.cudaGetDeviceProperties_v2))
"""

# Which version of a function of the driver is found under its plain name, by the version that is asked for.
ENTRY_POINTS = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])
cuda = ctypes.CDLL(None)
address = lambda function: ctypes.cast(function, ctypes.c_void_p).value
def newest(name, version):
    found, status = ctypes.c_void_p(), ctypes.c_int()
    assert cuda.cudaGetDriverEntryPointByVersion(name, ctypes.byref(found), version, ctypes.c_ulonglong(0), ctypes.byref(status)) == 0
    again = ctypes.c_void_p()
    assert cuda.cuGetProcAddress_v2(name, ctypes.byref(again), version, ctypes.c_ulonglong(0), ctypes.byref(status)) == 0
    assert found.value == again.value
    known = {2: name.decode() + "_v2", 1: name.decode()}
    return next(number for number, text in known.items() if hasattr(cuda, text) and address(cuda[text]) == found.value)
for name in (b"cuStreamGetCtx", b"cuCtxGetDevice", b"cuCtxSynchronize", b"cuMemAlloc"):
    print(*(newest(name, version) for version in (12000, 12040, 12050, 13000, 13040)))
stream, context, green = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(1)
assert cuda.cudaStreamCreate(ctypes.byref(stream)) == 0
assert cuda.cuStreamGetCtx_v2(stream, ctypes.byref(context), ctypes.byref(green)) == 0
device = ctypes.c_int(-1)
assert cuda.cuCtxGetDevice_v2(ctypes.byref(device), context) == 0 and cuda.cuCtxSynchronize_v2(context) == 0
assert cuda.cuCtxSynchronize_v2(ctypes.c_void_p(8)) == 201  # no context
print(green.value, device.value)
"""


def run(major: int, found_by: str = "path", program: str = PROGRAM, opened: str | None = None) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as folder:
        runtime = Path(folder) / f"libcudart.so.{major}"
        shutil.copy(FAKE, runtime)
        opened = opened or (runtime.name if found_by == "LD_LIBRARY_PATH" else str(runtime))
        lent = {"LD_LIBRARY_PATH": folder, "LD_PRELOAD": str(runtime)}
        environment = {name: value for name, value in lent.items() if name == found_by}
        command = [HEADROOM, "dryrun", "--card", "a10g", "--", sys.executable, "-S", "-c", program, opened]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
        )


class Runtimes(unittest.TestCase):
    # 728 bytes are CUDA 11's structure, 1032 CUDA 12's, 1008 CUDA 13's. An A10G is 8.6.
    def test_cuda_12_is_asked_by_the_names_and_structures_of_its_headers(self):
        done = run(12)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), "12040 12040 1 True 728 8 0 1032 8 0".split())

    def test_a_runtime_elsewhere_or_preloaded_is_found_and_stays_behind_the_stand_in(self):
        for found_by in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
            done = run(12, found_by)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.split()[:3], ["12040", "12040", "1"], found_by)

    def test_cuda_13_has_its_own_structure_under_the_plain_name(self):
        done = run(13)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = done.stdout.split()
        self.assertEqual(words[:2], ["13040", "13040"])
        self.assertEqual(words[4], "1008")
        self.assertEqual(words[7:], "1032 8 0".split())

    def test_a_runtime_that_only_a_program_s_rpath_finds_stays_behind_the_stand_in(self):
        done = run(12, opened=CONDA)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split()[:3], ["12040", "12040", "1"])

    def test_a_function_of_the_driver_is_that_of_the_version_that_was_asked_for(self):
        done = run(12, program=ENTRY_POINTS)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = ["1 1 2 2 2", "1 1 1 2 2", "1 1 1 2 2", "2 2 2 2 2", "None 0"]
        self.assertEqual(done.stdout.splitlines()[:5], lines)

    def test_an_unknown_runtime_is_refused_in_one_line(self):
        for major in (11, 14):
            done = run(major)
            self.assertEqual(done.returncode, 5, done.stderr)
            said = [line for line in done.stderr.splitlines() if line.startswith("virtual GPU: ")]
            self.assertEqual(len(said), 1, done.stderr)
            self.assertRegex(said[0], rf"is built for /.*/libcudart\.so\.{major}; supported: CUDA 12 and 13")


if __name__ == "__main__":
    CONDA = sys.argv.pop()
    FAKE = sys.argv.pop()
    HEADROOM = sys.argv.pop()
    unittest.main()
