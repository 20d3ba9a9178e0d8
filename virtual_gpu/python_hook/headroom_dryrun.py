"""What a Python process under `headroom dryrun` tells of itself: the allocator's statistics.

The stand-in (virtual_gpu/report/report.cpp) knows what the card was asked for; what was live inside
the allocator's segments only libtorch knows. Written at exit, beside its report. No error of ours
reaches the program.
"""

import atexit
import contextlib
import json
import os
import sys
import threading

import headroom_absent
import headroom_autotune
import headroom_cute
import headroom_host_init
import headroom_places
import headroom_reads
import headroom_triton
import headroom_version
import headroom_vllm

CUDA_MAJORS = (12, 13)
SUPPORTED = "supported: PyTorch 2.4 and newer for CUDA 12 or 13 (pip install torch)"
SNAPSHOT_ENTRIES = 1000000
STATISTICS = {
    "peak_allocated_bytes": "allocated_bytes.all.peak",
    "peak_reserved_bytes": "reserved_bytes.all.peak",
    "peak_requested_bytes": "requested_bytes.all.peak",
    "allocated_bytes": "allocated_bytes.all.current",
    "reserved_bytes": "reserved_bytes.all.current",
    "segments": "segment.all.current",
    "retries": "num_alloc_retries",
    "out_of_memory": "num_ooms",
}


def never_fails(function):
    """An error becomes one line on stderr, the first time."""
    said = []

    def guarded(*arguments):
        try:
            return function(*arguments)
        except Exception as error:
            if not said:
                said.append(True)
                sys.stderr.write(f"headroom dryrun: {function.__name__} failed: {error!r}\n")
            return None

    return guarded


class Process:
    """Of this process; a fork starts anew."""

    def __init__(self, torch):
        self.torch = torch
        self.snapshot = os.environ.get("HEADROOM_DRYRUN_SNAPSHOT", "")
        self.reads = headroom_reads.Reads()
        self.breakdown = None
        self.operations = None  # the library of Note [Operations on known values]
        if os.environ.get("HEADROOM_DRYRUN_BREAKDOWN"):
            import headroom_breakdown

            self.breakdown = headroom_breakdown.Breakdown(torch)
        self.forget()

    def forget(self):
        self.is_started = False
        self.is_finished = False
        self.refused = []  # places where the allocator found no memory
        self.uncaught = ""  # the message of the error that ended the program
        self.written_snapshot = ""
        self.snapshot_until = ""  # where the program switched the recording off
        self.snapshot_error = ""
        self.reads.forget()
        self.peaks = {}  # before the program reset them: (device, key) to bytes

    @never_fails
    def cuda_started(self):
        torch = self.torch
        self.is_started = True
        if self.snapshot:
            # No stacks of frees ("all"): one taken while an exception unwinds drops it, and
            # non-reentrant checkpointing ends its recomputation by one (pytorch#179536).
            torch.cuda.memory._record_memory_history(
                context="alloc", max_entries=SNAPSHOT_ENTRIES, stacks="python"
            )
        if self.breakdown:
            self.breakdown.start(SNAPSHOT_ENTRIES if self.snapshot else 0)
        torch._C._cuda_attach_out_of_memory_observer(self.memory_ran_out)
        self.operations = watch_operations(torch)
        if "multiprocessing.process" in sys.modules:
            from multiprocessing import process, util

            if process.parent_process() is not None:  # such a process runs no atexit handlers
                util.Finalize(None, self.finish, exitpriority=-100)

    @never_fails
    def memory_ran_out(self, device, wanted, total, free):
        where = headroom_places.here()
        self.refused.append(
            {"device": device, "wanted_bytes": wanted, "free_bytes": free, "where": where}
        )
        if self.breakdown:
            self.breakdown.memory_ran_out(device, wanted, where)
        if self.snapshot:
            self.write_snapshot()

    @never_fails
    def error_ended_program(self, kind, error, traceback):
        if not issubclass(kind, self.torch.OutOfMemoryError):
            return
        self.uncaught = str(error).split(" If reserved but unallocated")[0]
        where = headroom_places.of_traceback(traceback)
        if not self.refused:
            self.refused.append({"device": 0, "where": where})
        elif where:
            self.refused[-1]["where"] = where

    @never_fails
    def keep_peaks(self, device):
        for key, value in self.statistics(device).items():
            if key.startswith("peak_"):
                self.peaks[device, key] = max(value, self.peaks.get((device, key), 0))

    def statistics(self, device):
        known = self.torch.cuda.memory_stats(device)
        return {key: known.get(name, 0) for key, name in STATISTICS.items()}

    def device(self, ordinal):
        values = self.statistics(ordinal)
        since_reset = values["peak_allocated_bytes"]
        for key in values:
            values[key] = max(values[key], self.peaks.get((ordinal, key), 0))
        return {"ordinal": ordinal, **values, "peak_allocated_bytes_since_reset": since_reset}

    def write_snapshot(self):
        stem, extension = os.path.splitext(self.snapshot)
        path = f"{stem}.{os.getpid()}{extension}"
        try:
            self.torch.cuda.memory._dump_snapshot(path + ".tmp")
            os.replace(path + ".tmp", path)
        except OSError as error:
            self.snapshot_error = f"cannot write {path}: {error.strerror or error}"
            with contextlib.suppress(OSError):
                os.remove(path + ".tmp")
            return
        self.written_snapshot = path
        self.snapshot_error = ""

    @never_fails
    def recording_ends(self):
        """The program is about to switch it off, and what was recorded goes with it."""
        if self.snapshot and self.is_started and not self.snapshot_until:
            self.write_snapshot()
            self.snapshot_until = headroom_places.here()

    @never_fails
    def finish(self):
        if self.is_finished or not self.is_started or not self.torch.cuda.is_initialized():
            return
        self.is_finished = True
        headroom_reads.tell_reads(None)
        headroom_reads.tell_ending(None)
        reads = self.reads.report()
        report = {
            "pid": os.getpid(),
            "torch": self.torch.__version__,
            "devices": [self.device(i) for i in range(self.torch.cuda.device_count())],
            "refused": self.refused,
            "uncaught": self.uncaught,
            "skipped_host_init_bytes": headroom_host_init.skipped_bytes,
            "host_reads": reads,
            "values": self.reads.answers.report(),
            "selections": self.selections(),
            "groups": list(headroom_absent.groups),
            "lacks": headroom_version.lacks(self.torch, reads),
        }
        if self.breakdown:
            report["breakdown"] = self.breakdown_report()
        write_report(report)
        python_ends()
        if self.snapshot:
            # The moment at which memory ran out says more than the moment after.
            # So does the moment before the program ended its recording.
            if not (self.written_snapshot and (self.uncaught or self.snapshot_until)):
                self.write_snapshot()
            snapshot = {name: getattr(self, name) for name in ("snapshot_until", "snapshot_error")}
            write_report({**report, **snapshot, "snapshot": self.written_snapshot})

    def selections(self):
        return self.operations.headroom_routed_selections() if self.operations else 0

    @never_fails
    def breakdown_report(self):
        return self.breakdown.report()

    @never_fails
    def host_read(self, to, address, size):
        try:
            self.reads.note(to, address, size)
        except BaseException as error:
            if not headroom_reads.is_of_handler(error):
                raise
            headroom_reads.raise_later(error)

    @never_fails
    def signal_ends_program(self, number):
        """On a thread of the stand-in's, while the program goes on; see Note [Ending signals]."""
        self.finish()


def write_report(report):
    path = report_stem() + ".torch.json"
    # Names of files need not be UTF-8, and JSON must be.
    with open(path + ".tmp", "w", encoding="utf-8", errors="replace") as file:
        json.dump(report, file, ensure_ascii=False)
    os.replace(path + ".tmp", path)


def report_stem():
    import ctypes

    stem = ctypes.CDLL(None).virtual_gpu_report_stem
    stem.restype = ctypes.c_char_p
    return os.fsdecode(stem())


def python_ends():
    """Note [Groups that are left standing]."""
    import ctypes

    ctypes.CDLL(None).virtual_gpu_python_ends()


def refuse_wheel(torch):
    cuda = torch.version.cuda
    if cuda is None:
        reason = f"is built for {'ROCm' if torch.version.hip else 'the CPU'}, without CUDA"
    elif int(cuda.split(".")[0]) not in CUDA_MAJORS:
        reason = f"is built for CUDA {cuda}"
    elif headroom_version.release(torch) < headroom_version.OLDEST:
        reason = "is too old"
    else:
        if headroom_version.release(torch) > headroom_version.NEWEST:
            sys.stderr.write(f"headroom dryrun: torch {torch.__version__} is newer than those that are tested\n")
        return
    sys.stderr.write(f"headroom dryrun: torch {torch.__version__} {reason}; {SUPPORTED}\n")
    raise SystemExit(5)


def watch_operations(torch):
    """What libtorch's operations make of known values; Note [Operations on known values]."""
    import ctypes

    library = headroom_version.library(torch, headroom_version.OPERATIONS)
    if library is None:
        return None
    loaded = ctypes.CDLL(library)  # the libraries that it needs are loaded already
    loaded.headroom_watch_operations()
    return loaded


def watch_errors(process):
    main_hook, thread_hook = sys.excepthook, threading.excepthook

    def on_error(kind, error, traceback):
        process.error_ended_program(kind, error, traceback)
        main_hook(kind, error, traceback)

    def on_thread_error(arguments):
        process.error_ended_program(*arguments[:3])
        thread_hook(arguments)

    sys.excepthook, threading.excepthook = on_error, on_thread_error


def watch_resets(torch, process):
    """A program that resets its peaks would hide the ones before."""
    reset = torch._C._cuda_resetPeakMemoryStats

    def keep_and_reset(device):
        process.keep_peaks(device)
        return reset(device)

    torch._C._cuda_resetPeakMemoryStats = keep_and_reset


def watch_recording(torch, process):
    for name in ("_cuda_record_memory_history", "_cuda_record_memory_history_legacy"):
        record = getattr(torch._C, name, None)
        if record is not None:
            setattr(torch._C, name, _watched_recording(record, process))


def _watched_recording(record, process):
    def watched(enabled=None, *arguments, **named):
        if enabled:
            process.snapshot_until = ""  # it goes on
        else:
            process.recording_ends()
        return record(enabled, *arguments, **named)

    return watched


def torch_imported(torch):
    refuse_wheel(torch)
    process = Process(torch)
    atexit.register(process.finish)
    os.register_at_fork(after_in_child=process.forget)
    headroom_places.torch_folder = os.path.dirname(torch.__file__) + os.sep
    watch_errors(process)
    watch_resets(torch, process)
    watch_recording(torch, process)
    headroom_autotune.take_first()
    headroom_vllm.answer()
    headroom_cute.answer()
    headroom_triton.answer()
    headroom_reads.watch_lost()
    headroom_reads.tell_reads(process.host_read)
    headroom_reads.tell_ending(process.signal_ends_program)
    if os.environ.get("HEADROOM_DRYRUN_SKIP_HOST_INIT"):
        headroom_host_init.skip(torch)
    torch.cuda._lazy_call(process.cuda_started)
    if headroom_absent.is_wanted():
        headroom_absent.stand_alone(torch)
