"""Where the program reads values of the card back, and whether it seems to wait for one.

See Note [Data-dependent control flow] (virtual_gpu/report/host_read.h).
"""

import _thread
import ctypes
import os
import signal
import sys
import threading
import time

import headroom_answers
import headroom_places
import headroom_uses

MOST_PLACES = 1000
DECISION_BYTES = 64  # as in virtual_gpu/report/host_read.h
COPY_BYTES = 1024  # a few flags, copied as a tensor
MOST_NAMED = 4  # of the lines of a loop
HARMLESS = ("printed", "stored", "loss_scaling", "checked")
COPIES = {"cpu", "to", "copy_", "numpy"}
LISTS = {"tolist", "print", "format", "repr", "str"}
# The purpose of reads in torch's own Python, by file.
TORCH_READS = {
    os.path.join("amp", "grad_scaler.py"): "loss_scaling",
    os.path.join("distributions", "distribution.py"): "checked",
    "_tensor_str.py": "printed",
    "serialization.py": "stored",
}


class Place:
    """One line that reads, called from one line of the user's."""

    def __init__(self, frames):
        self.line = ""  # "train.py:42"
        self.where = ""  # "train.py:42 in step, called at main.py:7"
        self.operation = ""
        self.use = ""
        self.answer = None
        self.count = 0
        self.answered = 0
        self.bytes = 0
        if frames:
            self.describe(frames)

    def describe(self, frames):
        frame = frames.reading
        self.where = frames.text()
        self.line = frames.line()
        self.operation, self.use = headroom_uses.of_frame(frame)
        inner = frames.innermost.f_code
        for name, use in TORCH_READS.items():
            if inner.co_filename.endswith(os.sep + name):
                self.use = use
        if inner.co_name in ("__format__", "__repr__") and inner is not frame.f_code:
            self.use = "printed"

    def is_read(self, size):
        if size <= DECISION_BYTES:
            return True
        if self.operation in LISTS or self.use in ("condition", "index"):
            return True
        return self.operation in COPIES and size <= COPY_BYTES

    def may_wait(self):
        return self.use in ("condition", "index")

    def report(self):
        names = ("where", "line", "operation", "use", "count", "bytes", "answered")
        return {name: getattr(self, name) for name in names}


class Loop:
    """The rule of virtual_gpu/report/read_loop.h; reads that decide nothing here count ten times less."""

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self.begin()

    def begin(self):
        self.reads = 0
        self.places = {}  # to their reads since then
        self.began = self.clock()
        self.said_at_reads = 1000
        self.said_after = 10

    def note(self, is_new, may_wait, place=None):
        """How many reads there were since the last new line when it is to be said, else 0."""
        if is_new:
            self.begin()
        self.reads += 1
        self.places[place] = self.places.get(place, 0) + 1
        passed = self.clock() - self.began
        factor = 1 if may_wait else 10
        if self.reads < self.said_at_reads * factor and (
            self.reads < 50 or passed < self.said_after * factor
        ):
            return 0
        self.said_at_reads = self.reads * 10
        self.said_after = passed * 4 + 10
        return self.reads


class Reads:
    def __init__(self):
        self.answers = headroom_answers.Answers()
        self.lock = threading.Lock()
        self.forget()

    def forget(self):
        self.places = {}
        self.loop = Loop()
        self.is_first = True

    def note(self, to, address, size):
        frames = headroom_places.reading_frames()
        key = frames.key() if frames else None
        with self.lock:
            place = self.place(frames, key)
            if place.answer is None and not place.is_read(size):
                return
            place.count += 1
            place.bytes += size
            in_a_row = self.loop.note(place.count == 1, place.may_wait(), place)
        if place.use == "checked" and to is not None and size == 1:
            ctypes.memset(to, 1, 1)  # a program that runs has valid arguments
        if place.answer is not None:
            place.answered += self.answers.write(place.answer, key, to, address, size)
        if size <= DECISION_BYTES and self.is_first:
            self.is_first = False
            self.say_first(place, size)
        if in_a_row:
            self.say_loop(in_a_row)

    def place(self, frames, key):
        if key not in self.places:
            if len(self.places) >= MOST_PLACES:
                frames = key = None
            place = self.places.setdefault(key, Place(frames))
            if frames:
                reading = frames.reading
                place.answer = self.answers.find(reading.f_code.co_filename, reading.f_lineno)
        return self.places[key]

    def say_first(self, place, size):
        at = f" at {place.where}" if place.where else ""
        sys.stderr.write(
            "virtual GPU: values on a virtual GPU are zeros; "
            f"the program reads {size} bytes back{at} (shown once)\n"
        )

    def say_loop(self, reads):
        """Which of the lines waits is not known; those in tests come first."""
        around = [p for p in self.loop.places if p.use not in HARMLESS and p.line]
        around.sort(key=lambda place: (not place.may_wait(), -self.loop.places[place]))
        if not around:
            return
        named = " and ".join(place.where for place in around[:MOST_NAMED])
        sys.stderr.write(
            f"headroom dryrun: {reads:,} reads of device values in a row, none at a new line: at "
            f"{named}; "
            "they are zeros, so a loop that waits for another value never ends; "
            f"--value '{around[0].line}=1' answers {'it' if len(around) == 1 else 'the first'}\n"
        )

    def report(self):
        places = sorted(self.places.values(), key=lambda place: -place.count)
        return [place.report() for place in places if place.count > 0]


def is_of_handler(error):
    """Whether the program's signal handler raised it, while Python ran our code."""
    traceback = error.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    name = traceback.tb_frame.f_code.co_filename
    return not isinstance(error, Exception) or not name.startswith(headroom_places.KNOWN)


class Raises:
    """To ask whether it is true raises the error."""

    def __init__(self, error):
        self.error = error

    def __bool__(self):
        raise self.error


waiting = []  # the interpreter calls for them: they must stay


def raise_later(error):
    """In the main thread. What leaves a callback is lost, and with it a ^C; see watch_lost()."""

    def deliver():
        time.sleep(0.002)
        if (
            isinstance(error, KeyboardInterrupt)
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            # Once more, as the first would have come: out of a call that sleeps, too.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            return
        waiting.append(Raises(error))
        # A function of Python's own that takes an object and returns -1 for an error.
        call = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
        ctypes.pythonapi.Py_AddPendingCall(call, ctypes.py_object(waiting[-1]))

    _thread.start_new_thread(deliver, ())


functions, callbacks = [], []  # ctypes calls through them: they must stay


def watch_lost():
    """A signal's handler may also run before the first line of ours does."""
    others = sys.unraisablehook

    def on_lost(lost):
        if lost.exc_value is not None and any(lost.object is one for one in functions):
            raise_later(lost.exc_value)
        else:
            others(lost)

    sys.unraisablehook = on_lost


def tell(name, function, *types):
    """Makes the stand-in's function `name` call ours; None: nobody."""
    register = getattr(ctypes.CDLL(None), name, None)
    if register is None:
        return
    callback_type = ctypes.CFUNCTYPE(None, *types)
    functions.append(function)
    callbacks.append(callback_type(function) if function else callback_type())
    register(callbacks[-1])


def tell_reads(function):
    tell("virtual_gpu_on_host_read", function, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)


def tell_ending(function):
    tell("virtual_gpu_on_ending", function, ctypes.c_int)
