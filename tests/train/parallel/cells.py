"""The headroom-cell processes of a run on many ranks, for tests that disturb them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from processes import free_port, processor_seconds, until  # noqa: E402

NAME = "headroom-rank"  # of a rank's process, its number behind it
AT_WORK = 1.5  # seconds of processor: libtorch takes 0.7 to load
FORKED_AT_WORK = 0.8  # where a process that had loaded it was forked


def cells_of(pid):
    """Pids of the headroom-cell processes that descend from it, by rank."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
            except (OSError, IndexError):
                continue
    cells, below = {}, [pid]
    while below:
        one = below.pop()
        below += children.get(one, [])
        try:
            name = Path(f"/proc/{one}/comm").read_text().strip()
        except OSError:
            continue
        if name.startswith(NAME):
            cells[int(name.removeprefix(NAME))] = one
    return cells


def met(process, count, seconds=120, used=AT_WORK):
    """Its cells, when all are there and each has used so many seconds of processor that it has met the others:
    one that waits for them uses nearly none."""
    def at_work():
        cells = cells_of(process.pid)
        met_all = len(cells) == count and all(processor_seconds(pid) >= used for pid in cells.values())
        return cells if met_all else None
    return until(at_work, "the ranks have met", seconds)


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
