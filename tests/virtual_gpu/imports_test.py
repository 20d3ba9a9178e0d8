#!/usr/bin/env python3
"""Every CUDA function that libtorch imports is defined by the stand-in.

usage: imports_test.py TORCH_LIB_DIR LIBVIRTUAL_GPU

A function on neither list would be the real library's, called without a card: a crash. Of cuDNN's,
cuSOLVER's and cuSPARSE's, those that take a handle: the others only fill in descriptors, and stay
the real library's.
"""

import re
import subprocess
import sys
from pathlib import Path

# cuBLAS to cuFFT: stood in for or refused by name, NVML in programs only. cuFile, CUPTI, NVRTC and NVSHMEM are
# real: they are asked only for what works without a card, or say themselves that there is none.
STOOD_IN = re.compile(r"(__cuda|cuda|cublas|cublasLt|cudnn|cusolver|cusparse|cusparseLt|cufft|nccl)[A-Z]")
DRIVER = re.compile(r"cu[A-Z]")
LIBRARIES = ("libtorch_cuda.so", "libtorch_cuda_linalg.so", "libc10_cuda.so", "libtorch_cpu.so",
             "libtorch_python.so")
REAL = re.compile(r"(cuFile|cupti)")
OFTEN_REAL = re.compile(r"(cudnn|cusolver|cusparse(?!Lt))[A-Z]")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "virtual_gpu"))
from make_lists import with_handle  # noqa: E402


def symbols(path: Path, kind: str) -> set[str]:
    command = ["nm", "-D", f"--{kind}-only", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line}


def looked_up(path: Path) -> set[str]:
    """Names of driver functions among the library's texts: what it asks for at run time."""
    found = re.findall(rb"\0(cu[A-Z][A-Za-z0-9]+)(?=\0)", path.read_bytes())
    return {name.decode() for name in found}


def main() -> int:
    torch_lib, stand_in = Path(sys.argv[1]), Path(sys.argv[2])
    defined = symbols(stand_in, "defined")
    handled = with_handle(torch_lib / "../../nvidia")
    failures = 0
    if not handled:
        print("no headers of cuDNN, cuSOLVER and cuSPARSE beside libtorch: their functions are not checked")
    for name, wanted in [(name, STOOD_IN) for name in LIBRARIES] + [("libcaffe2_nvrtc.so", DRIVER)]:
        path = torch_lib / name
        if not path.exists():
            continue
        imports = {s for s in symbols(path, "undefined") if wanted.match(s) and not REAL.match(s)}
        imports = {s for s in imports if not OFTEN_REAL.match(s) or s in handled}
        missing = sorted(imports - defined)
        print(f"{name}: {len(imports)} imports, {len(missing)} missing")
        for symbol in missing:
            print(f"  {symbol}")
        failures += len(missing)
    versions = ("_v4", "_v3", "_v2", "")
    asked = looked_up(torch_lib / "libc10_cuda.so")
    unknown = sorted(n for n in asked if not any(n + version in defined for version in versions))
    print(f"libc10_cuda.so: {len(asked)} driver functions looked up, {len(unknown)} missing")
    for symbol in unknown:
        print(f"  {symbol}")
    nvml = set(re.findall(rb"\0(nvml[A-Z][A-Za-z0-9_]+)(?=\0)", (torch_lib / "libc10_cuda.so").read_bytes()))
    absent = sorted(name.decode() for name in nvml if name.decode() not in defined)
    print(f"libc10_cuda.so: {len(nvml)} functions of NVML looked up, {len(absent)} missing {absent}")
    failures += len(unknown) + len(absent) + (0 if asked and nvml else 1)
    if not any(name.startswith("cudaMalloc") for name in defined):
        print("the stand-in defines no cudaMalloc: the wrong file?")
        failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
