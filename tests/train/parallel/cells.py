"""The headroom-cell processes of a run on many ranks, for tests that disturb them."""

import socket
import time
from pathlib import Path


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


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
            if not Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")[0].endswith(b"-cell"):
                continue
            variables = Path(f"/proc/{one}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        cells.update({int(name[5:]): one for name in variables if name.startswith(b"RANK=")})
    return cells


def met(process, count, seconds, meeting=2):
    """Its cells, when all are there, within so many seconds, and have had some to meet."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        cells = cells_of(process.pid)
        if len(cells) == count:
            time.sleep(meeting)
            return cells
        time.sleep(0.1)
    raise AssertionError("the ranks did not come")


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
