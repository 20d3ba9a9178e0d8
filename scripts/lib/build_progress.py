"""Shows how far a build is, with an ETA, and keeps its whole output in a file.

usage: NINJA | build_progress.py LOG PLAN NINJA_LOG
LOG gets what is read. PLAN is the output of a dry run of the same build (`ninja -n`): every step that is to come.
NINJA_LOG, which may be absent, has the time that each step took last.
On a terminal stderr has one line that is redrawn every second; elsewhere a line after two seconds and then every 30.
Exit code 0.

Note [The ETA of a build]
Rationale: a step is a precompiled header of 30 seconds or an archive of 0.1. The first minute of a build holds the longest
  of them, so that steps finished per second would promise an hour.
Approach: every step weighs the seconds that it took last time, or those that are assumed of its kind. The ETA is the weight
  that is left over the weight done per second. At first that rate is what all processors of
  this machine would do; after a minute it is nearly the measured one.
Limits: steps that are running count as not begun.
"""

import os
import re
import select
import sys
import time

# Seconds of a step that was never timed, by what ninja says of it; the first that matches.
KINDS = [
    (r"headroom_torch\.dir/cmake_pch", 30.0),
    (r"Building .*/headroom_(model|train|profiling|run|operations)\.dir/.*Unity/", 18.0),
    (r"Building .*/(headroom-cell|headroom_bench)\.dir/", 18.0),
    (r"Building .*Unity/", 8.0),
    (r"Building ", 2.5),
    (r"Linking CXX (executable|shared)", 1.0),
]
OTHER = 0.2
TRUSTED_SECONDS = 20  # of the assumed rate, against the measured one
LINE_EVERY = 30
SILENT_SECONDS = 2  # a build that has nothing to do says nothing
STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")


def seconds_of(text, times):
    output = text.rsplit(" ", 1)[-1]
    if output in times:
        return times[output]
    return next((seconds for pattern, seconds in KINDS if re.search(pattern, text)), OTHER)


def times_of(path):
    """Seconds by output, of the last time that each was made."""
    times = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                fields = line.split("\t")
                if len(fields) >= 4:
                    times[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    except (OSError, ValueError):
        return {}
    return times


def steps_of(path):
    with open(path, encoding="utf-8", errors="replace") as lines:
        return [match[3] for match in map(STEP.match, lines) if match]


def duration(seconds):
    whole = int(seconds + 0.999)
    return f"{whole} s" if whole < 120 else f"{(whole + 59) // 60} min"


def room_and_file(text):
    """"train: parallel" of "Building CXX object train/CMakeFiles/headroom_train.dir/Unity/unity_..._parallel_cxx.cxx.o"."""
    match = re.search(r"(\S+)/CMakeFiles/\S+\.dir/(\S+)", text)
    return f"{match[1]}/{os.path.basename(match[2]).split('.')[0]}" if match else text.rsplit("/", 1)[-1]


class Build:
    def __init__(self, plan, times, processors):
        self.times = times
        self.planned = sum(seconds_of(text, times) for text in plan)
        self.processors = processors
        self.finished = 0.0
        self.count = f"0 of {len(plan)}" if plan else "beginning"
        self.last = ""

    def read(self, line):
        match = STEP.match(line)
        if match:
            self.count = f"{match[1]} of {match[2]}"
            self.last = match[3]
            self.finished += seconds_of(match[3], self.times)

    def seconds_left(self, elapsed):
        left = max(self.planned - self.finished, 0.0)
        return left * (elapsed + TRUSTED_SECONDS) / (self.finished + TRUSTED_SECONDS * self.processors)

    def text(self, elapsed):
        line = f"building: {self.count} steps, {duration(elapsed)}"
        left = self.seconds_left(elapsed)
        return line + (f", ETA {duration(left)}" if left >= 1 else "")


class Display:
    def __init__(self, stream=sys.stderr):
        self.stream = stream
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.said = None

    def show(self, build, elapsed):
        if self.live:
            line = build.text(elapsed) + (f"; {room_and_file(build.last)}" if build.last else "")
            width = os.get_terminal_size(self.stream.fileno()).columns or 80
            self.stream.write("\r\033[K" + line[: width - 1])
        elif self.said is None or elapsed - self.said >= LINE_EVERY:
            self.said = elapsed
            self.stream.write(build.text(elapsed) + "\n")
        self.stream.flush()

    def finish(self):
        if self.live:
            self.stream.write("\r\033[K")
            self.stream.flush()


def lines_as_they_come(stream):
    """Each line of `stream`; None after a second without one."""
    pending = b""
    while True:
        if not select.select([stream], [], [], 1)[0]:
            yield None
            continue
        piece = os.read(stream, 65536)
        *whole, pending = (pending + piece).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
        if not piece:
            if pending:
                yield pending.decode(errors="replace")
            return


def main():
    log_path, plan_path, ninja_log = sys.argv[1:]
    plan = steps_of(plan_path)
    build = Build(plan, times_of(ninja_log), len(os.sched_getaffinity(0)))
    display = Display()
    start = time.monotonic()
    with open(log_path, "w", encoding="utf-8") as log:
        for line in lines_as_they_come(sys.stdin.fileno()):
            if line is not None:
                log.write(line + "\n")
                log.flush()
                build.read(line)
            elapsed = time.monotonic() - start
            if elapsed >= SILENT_SECONDS:
                display.show(build, elapsed)
    display.finish()


if __name__ == "__main__":
    main()
