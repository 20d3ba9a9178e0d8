"""States of processes, for tests that wait for them. A test that sleeps for seconds fails by chance on a busy machine."""

import os
import socket
import time
from pathlib import Path

SOON = 120  # seconds: that something has happened by then, also on a busy machine
TICKS = os.sysconf("SC_CLK_TCK")


def until(condition, what, seconds=SOON):
    """The condition's value, as soon as it is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not in {seconds} s")
        time.sleep(0.02)
    return found


HELD = []


def free_port():
    """A port that the kernel gives to nobody until this process ends. A server that sets SO_REUSEADDR, as torch's
    store does, may bind it."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    HELD.append(held)
    return held.getsockname()[1]


def fields(pid):
    """Of /proc/PID/stat, from the state on; none when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []


def family(pid):
    """It and all that descend from it."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (words := fields(entry.name)):
            children.setdefault(int(words[1]), []).append(int(entry.name))
    found, below = [], [pid]
    while below:
        found.append(below.pop())
        below += children.get(found[-1], [])
    return found


def processor_seconds(*pids):
    """The CPU time that they have used; a busy machine gives it later."""
    used = [fields(pid)[11:13] for pid in pids]
    return sum(int(ticks) for pair in used for ticks in pair) / TICKS


def asleep(pid):
    """True if it and its family wait: none runs or could run in ten looks in a row."""
    for _ in range(10):
        states = [words[0] for words in map(fields, family(pid)) if words]
        if set(states) - {"S", "Z"}:
            return False
        time.sleep(0.02)
    return True


def has_open(pid, folder):
    """True if one of its family has a file of this folder open, also one without a name."""
    for member in family(pid):
        try:
            links = [os.readlink(link) for link in Path(f"/proc/{member}/fd").iterdir()]
        except OSError:
            continue
        if any(link.startswith(f"{folder}/") for link in links):
            return True
    return False


def lives(pid):
    """True if it runs; a process that ended and was not waited for does not."""
    return fields(pid)[:1] not in ([], ["Z"])
