#!/usr/bin/env python3
"""Writes report/not_supported.inc, cublas/other.inc and the lists of cusolver/ and cusparse/: names
answered without doing.

usage: make_lists.py TORCH_DIR OBJECT_DIR [--check]
TORCH_DIR: the wheel's torch/. OBJECT_DIR: the build's virtual_gpu/. The lists keep the names that
other wheels need: run it once for each. --check writes nothing and fails when a list is not what
would be written; it exits with 77 where NVIDIA's libraries are not beside TORCH_DIR.

Every function of the CUDA runtime, cuBLAS and cuBLASLt, every one of cuDNN that takes a handle, and
every one of the other libraries that libtorch imports is either defined in a source file here or
on one of the lists. Functions of cuDNN, cuSOLVER and cuSPARSE that take no handle need no device:
the real ones run (cudnn/cudnn.cpp). Run it when libtorch or the sources change; tests run it with
--check and compare libtorch's imports.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NOT_SUPPORTED, OTHER = HERE / "report/not_supported.inc", HERE / "cublas/other.inc"
# In these libraries a function that takes a handle returns a size or is a launch.
BY_HANDLE = ("cusolver", "cusparse")
SIZES = {library: HERE / library / "sizes.inc" for library in BY_HANDLE}
LAUNCHES = {library: HERE / library / "launches.inc" for library in BY_HANDLE}
HEADS = {NOT_SUPPORTED: "HEADROOM_REFUSE(name, the library's \"not supported\").", OTHER: "HEADROOM_DONE(name).",
         **dict.fromkeys(SIZES.values(), "HEADROOM_SIZE(name)."),
         **dict.fromkeys(LAUNCHES.values(), "HEADROOM_LAUNCH(name).")}

# Library -> (file, what "not supported" is in its own enumeration).
WHOLE = {"cudart": ("cu13/lib/libcudart.so.13", 801), "cublas": ("cu13/lib/libcublas.so.13", 15),
         "cublasLt": ("cu13/lib/libcublasLt.so.13", 15)}
IMPORTED = {"cusparseLt": 10, "cufft": 16, "nccl": 5}
IMPORTERS = ("libtorch_cuda.so", "libtorch_cuda_linalg.so", "libc10_cuda.so", "libtorch_python.so")
# Functions of the driver. cuDNN looks up the first six before it plans, and calls none of them: by both names
# where there are two. The others libtorch looks up when it first needs any function of the driver.
DRIVER = dict.fromkeys((
    "cuLinkAddData", "cuLinkAddData_v2", "cuLinkComplete", "cuLinkCreate", "cuLinkCreate_v2",
    "cuLinkDestroy", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
    "cuMulticastAddDevice", "cuMulticastBindMem", "cuMulticastCreate", "cuMulticastUnbind",
    "cuCtxFromGreenCtx", "cuGreenCtxCreate", "cuGreenCtxDestroy", "cuGreenCtxStreamCreate",
    "cuDevResourceGenerateDesc", "cuDevSmResourceSplitByCount", "cuDeviceGetDevResource",
    "cuStreamWriteValue32"), 801)
# Functions of CUDA 12's runtime that CUDA 13's lacks.
CUDA12 = dict.fromkeys((
    "cudaGraphAddDependencies_v2", "cudaGraphAddNode_v2", "cudaGraphGetEdges_v2",
    "cudaGraphNodeGetDependentNodes_v2", "cudaGraphRemoveDependencies_v2",
    "cudaLaunchCooperativeKernelMultiDevice", "cudaMemPrefetchAsync_v2_ptsz",
    "cudaSetDoubleForDevice", "cudaSetDoubleForHost", "cudaSignalExternalSemaphoresAsync_v2",
    "cudaSignalExternalSemaphoresAsync_v2_ptsz", "cudaStreamGetCaptureInfo_v2_ptsz",
    "cudaStreamGetCaptureInfo_v3_ptsz", "cudaStreamUpdateCaptureDependencies_v2",
    "cudaStreamUpdateCaptureDependencies_v2_ptsz", "cudaThreadExit", "cudaThreadGetCacheConfig",
    "cudaThreadGetLimit", "cudaThreadSetCacheConfig", "cudaThreadSetLimit",
    "cudaThreadSynchronize", "cudaWaitExternalSemaphoresAsync_v2",
    "cudaWaitExternalSemaphoresAsync_v2_ptsz"), 801)
CUDNN_NOT_SUPPORTED = 3000
IS_SIZE = re.compile("_bufferSize(Ext)?$")
# The results of these have a size that depends on what the matrices hold.
CUSPARSE_BY_CONTENTS = re.compile(r"cusparse(SpGEMM_|[A-Z]csrgeam2)")
CUSPARSE_NOT_SUPPORTED = 10


def symbols(path: Path, kind: str) -> set[str]:
    command = ["nm", "-D", f"--{kind}-only", str(path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def objects_of(source: Path, objects: Path) -> list[Path]:
    """The object of a source file, or of the unit that it is compiled in (cmake/CompileTogether.cmake)."""
    alone = sorted(objects.glob(f"CMakeFiles/*.dir/{source.relative_to(HERE)}.o"))
    units = (unit for unit in sorted(objects.glob("CMakeFiles/*.dir/Unity/*.cxx"))
             if f'/{HERE.name}/{source.relative_to(HERE)}"' in unit.read_text())
    return alone or [object for unit in units if (object := unit.with_name(unit.name + ".o")).exists()]


def defined_here(objects: Path) -> set[str]:
    """By every source file but those that take their names from the lists."""
    names: set[str] = set()
    for source in sorted(HERE.rglob("*.cpp")):
        if source in (HERE / "report/refusal.cpp", HERE / "cublas/other.cpp",
                      *(HERE / library / "calls.cpp" for library in BY_HANDLE)):
            continue
        found = objects_of(source, objects)
        if not found:
            sys.exit(f"make_lists.py: {source} is not built in {objects}")
        command = ["nm", "--defined-only", "--extern-only", str(found[0])]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        names |= {line.split()[-1] for line in text.splitlines() if line}
    return names


def with_handle(nvidia: Path) -> set[str]:
    """Of cuDNN, cuSOLVER and cuSPARSE, by their headers."""
    names: set[str] = set()
    for library, headers, mark in (("cudnn", "*/include/cudnn*.h", "CUDNNWINAPI"),
                                   ("cusolverDn", "*/include/cusolverDn.h", "CUSOLVERAPI"),
                                   ("cusparse", "*/include/cusparse*.h", "CUSPARSEAPI")):
        text = " ".join(path.read_text() for path in sorted(nvidia.glob(headers)))
        functions = re.findall(rf"{mark}\s+({library}\w+)\s*\(([^;]*)\)\s*;", text)
        names |= {name for name, parameters in functions if f"{library}Handle_t" in parameters}
    return names


def old_lines(path: Path) -> dict[str, str]:
    """By the name that each is about."""
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return {re.split(r"[(,)]", line)[1]: line for line in lines}


def merged(new: dict[Path, list[str]], have: set[str]) -> dict[Path, str]:
    """With the lines that another wheel needs; a function that any wheel calls is not refused."""
    texts: dict[Path, str] = {}
    taken = set(have)
    for path in (*(path for path in new if path != NOT_SUPPORTED), NOT_SUPPORTED):
        old = {name: line for name, line in old_lines(path).items() if name not in taken}
        lines = sorted({*old.values(), *(l for l in new[path] if re.split(r"[(,)]", l)[1] not in taken)})
        taken |= {re.split(r"[(,)]", line)[1] for line in lines}
        texts[path] = f"// Written by make_lists.py. {HEADS[path]}\n" + "\n".join(lines) + "\n"
    return texts


def lists(torch: Path, objects: Path) -> dict[Path, str]:
    imported: set[str] = set()
    for name in IMPORTERS:
        imported |= symbols(torch / "lib" / name, "undefined")
    have = defined_here(objects)
    refused: dict[str, int] = {}
    done: list[str] = []
    for library, (file, code) in WHOLE.items():
        pattern = re.compile("(__)?cuda[A-Z]" if library == "cudart" else f"{library}[A-Z]")
        for name in sorted(symbols(torch.parent / "nvidia" / file, "defined") - have):
            if not pattern.match(name):
                continue
            if library != "cudart" and name in imported:
                done.append(name)
            else:
                refused[name] = code
    for library, code in IMPORTED.items():
        for name in sorted(imported - have):
            if re.match(f"{library}[A-Z]", name):
                refused[name] = code
    refused |= {name: code for name, code in (DRIVER | CUDA12).items() if name not in have}
    handled = with_handle(torch.parent / "nvidia")
    for name in sorted(name for name in handled - have if name.startswith("cudnn")):
        refused[name] = CUDNN_NOT_SUPPORTED
    unknown = {name for name in (handled & imported) - have if CUSPARSE_BY_CONTENTS.match(name)}
    refused |= dict.fromkeys(sorted(unknown), CUSPARSE_NOT_SUPPORTED)
    by_kind: dict[Path, list[str]] = {}
    for library in BY_HANDLE:
        names = sorted(n for n in (handled & imported) - have - unknown if n.startswith(library))
        sizes = [name for name in names if IS_SIZE.search(name)]
        launches = [name for name in names if not IS_SIZE.search(name)]
        by_kind[SIZES[library]] = [f"HEADROOM_SIZE({name})" for name in sizes]
        by_kind[LAUNCHES[library]] = [f"HEADROOM_LAUNCH({name})" for name in launches]
    refusals = [f"HEADROOM_REFUSE({name}, {code})" for name, code in refused.items()]
    done_lines = [f"HEADROOM_DONE({name})" for name in done]
    return merged(by_kind | {NOT_SUPPORTED: refusals, OTHER: done_lines}, have)


def main() -> int:
    torch, objects = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    is_check = "--check" in sys.argv
    if is_check and not (torch.parent / "nvidia").is_dir():
        return 77
    new = lists(torch, objects)
    old = {path: path.read_text() if path.exists() else "" for path in new}
    for path in (path for path in old if old[path] != new[path]):
        print(path.relative_to(HERE), "is out of date" if is_check else "is written anew")
        if not is_check:
            path.write_text(new[path])
    return 1 if is_check and new != old else 0


if __name__ == "__main__":
    sys.exit(main())
