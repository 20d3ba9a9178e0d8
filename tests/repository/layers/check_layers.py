#!/usr/bin/env python3
"""Fails when a file reaches against the direction in which data flows.

usage: check_layers.py [ROOT]

The rooms stand in the order of design: each includes only from those before it; virtual_gpu stands
alone. A file marked "No torch here." (and its same-named .cpp or .h) must not reach a torch header,
not even through a header of ours. What may be linked beside libtorch includes no <filesystem>.
A folder shows about a dozen things: files that differ only in their suffix, or in a last letter
(profile_part_a.sh to profile_part_e.sh), are one thing.
"""
import os
import pathlib
import re
import sys

ROOMS = ["text", "files", "cards", "model", "train", "profiling", "bench", "plan", "cli"]
ALONE = "virtual_gpu"
NOT_ROOMS = {"tests", "cmake", "docs", "scripts", "studies", "results"}  # free to include what they like
EMPTY_NAMES = {"utils", "util", "common", "misc", "helpers"}
SOURCES = {".h", ".cpp", ".inc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
MARKER = re.compile(r"\bNo torch here[.:]")
# May be linked beside libtorch: Note [std::filesystem beside libtorch] in cmake/FindLibtorch.cmake.
BESIDE_LIBTORCH = ROOMS[: ROOMS.index("bench") + 1]
NOT_BESIDE_LIBTORCH = "bench/dryrun/"
MOST_THINGS = 16
NOT_COUNTED = {"CMakeLists.txt", "README.md"}
# The top, tests/ with a folder for each room, and data.
UNLIMITED = re.compile(r"(\.|tests|recipes/models|results(/.*)?)")
TORCH = re.compile(r"(torch|ATen|c10|caffe2)/")


def may_include(room, other):
    if room == other:
        return True
    return ALONE not in (room, other) and ROOMS.index(other) < ROOMS.index(room)


def torch_path(path, files, seen):
    """The includes that lead from `path` to a torch header, or None."""
    seen.add(path)
    for ours, theirs in INCLUDE.findall(files[path]):
        name = ours or theirs
        if TORCH.match(name):
            return [path, name]
        if name in files and name not in seen:
            rest = torch_path(name, files, seen)
            if rest:
                return [path] + rest
    return None


def walk(root):
    """Folders and files of ours, as paths from the root."""
    for folder, names, files in os.walk(root):
        ignored = {"build", "__pycache__"}
        names[:] = sorted(n for n in names if not n.startswith(".") and n not in ignored)
        yield from (pathlib.Path(folder, name).relative_to(root) for name in names + sorted(files))


def crowded(tree):
    things = {}
    for path in tree:
        if path.name not in NOT_COUNTED and not UNLIMITED.fullmatch(path.parent.as_posix()):
            thing = re.sub(r"_[a-z]$", "", path.name.split(".")[0])
            things.setdefault(path.parent, set()).add(thing)
    for folder, names in things.items():
        if len(names) > MOST_THINGS:
            yield f"{folder}: shows {len(names)} things; group them by topic, at most {MOST_THINGS}"


def problems(root):
    tree = list(walk(root))
    yield from crowded(tree)
    for path in tree:
        if path.stem in EMPTY_NAMES:
            yield f"{path}: the name says nothing; name it after what it holds"
    sources = [p for p in tree if p.suffix in SOURCES and p.parts[0] not in NOT_ROOMS]
    files = {p.as_posix(): (root / p).read_text(encoding="utf-8") for p in sources}
    torch_free = {p.with_suffix("") for p in sources if MARKER.search(files[p.as_posix()])}
    for path, text in files.items():
        room = path.split("/")[0]
        if room not in ROOMS + [ALONE]:
            yield f"{path}: '{room}' is not a room; the rooms are {', '.join([ALONE] + ROOMS)}"
            continue
        for ours in filter(None, (ours for ours, _ in INCLUDE.findall(text))):
            other = ours.split("/")[0]
            if ours not in files:
                yield f'{path}: "{ours}" is not a file of ours, named from the root'
            elif other in ROOMS + [ALONE] and not may_include(room, other):
                yield f'{path}: {room} must not include "{ours}" ({ALONE} | {" <- ".join(ROOMS)})'
        beside = room in BESIDE_LIBTORCH and not path.startswith(NOT_BESIDE_LIBTORCH)
        if beside and any(theirs == "filesystem" for _, theirs in INCLUDE.findall(text)):
            yield f"{path}: includes <filesystem>, which must not be used beside libtorch"
        if pathlib.PurePath(path).with_suffix("") in torch_free:
            chain = torch_path(path, files, set())
            if chain:
                yield f"{path}: says 'No torch here.' and reaches {' -> '.join(chain[1:])}"


def main():
    here = pathlib.Path(__file__).resolve()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parents[3]
    found = list(problems(root))
    print("\n".join(found) if found else "layers: every include goes forward")
    return 1 if found else 0


sys.exit(main())
