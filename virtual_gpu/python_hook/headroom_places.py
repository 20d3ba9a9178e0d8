"""Which line of the user's program is running: "train.py:42 in forward"."""

import os
import sys
import threading

torch_folder = os.sep + "torch" + os.sep
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
STANDARD = os.path.dirname(os.__file__) + os.sep
KNOWN = (HERE, STANDARD)  # code that the hook runs
GENERATED = ("torchinductor_",)


def rules():
    """What the names of torch's files and of packages' begin with or contain, for python_place.cpp, too."""
    return (torch_folder, HERE, "<frozen"), GENERATED, (STANDARD,), PACKAGES


def _is_torch(name):
    begins, parts, *_ = rules()
    return name.startswith(begins) or any(part in name for part in parts)


def _is_package(name):
    *_, begins, parts = rules()
    return name.startswith(begins) or any(part in name for part in parts)


def _short(name):
    for folder in PACKAGES:
        if folder in name:
            return name.split(folder, 1)[1]
    below = os.getcwd() + os.sep
    return name[len(below) :] if name.startswith(below) else name


def _text(place):
    name, line, function = place
    return f"{_short(name)}:{line}" + ("" if function == "<module>" else f" in {function}")


def _describe(places):
    """Of (file, line, function), innermost first: outside torch, and where the user called it."""
    outside = [place for place in places if not _is_torch(place[0])]
    if not outside:
        return ""
    text = _text(outside[0])
    own = next((place for place in outside if not _is_package(place[0])), outside[0])
    return text if own is outside[0] else f"{text}, called at {_text(own)}"


def _of_frame(frame):
    places = []
    while frame is not None:
        places.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return _describe(places)


def of_traceback(traceback):
    places = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        places.append((code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    return _describe(places[::-1])


class ReadingFrames:
    """Of a thread: its innermost frame, the innermost outside torch and the user's own."""

    def __init__(self, frame):
        self.innermost = frame
        self.reading = self.own = None
        while frame is not None:
            name = frame.f_code.co_filename
            if self.reading is None and not _is_torch(name):
                self.reading = frame
            if self.reading is not None and not _is_package(name) and not _is_torch(name):
                self.own = frame
                break
            frame = frame.f_back
        if self.own is None:
            self.own = self.reading

    def key(self):
        """Two reads of one instruction have the same."""
        reading, own = self.reading, self.own
        return reading.f_code, reading.f_lasti, own.f_code.co_filename, own.f_lineno

    def line(self):
        """As the user may name it: "train.py:42"."""
        return f"{_short(self.reading.f_code.co_filename)}:{self.reading.f_lineno}"

    def text(self):
        frames = (self.reading, self.own)
        return _describe([(f.f_code.co_filename, f.f_lineno, f.f_code.co_name) for f in frames])


def _of_main_thread():
    """Autograd's threads have no Python: what they do, the main thread waits for."""
    return sys._current_frames().get(threading.main_thread().ident)


def reading_frames():
    """Of the calling thread, else of the main thread; None where neither runs any but torch's."""
    for frame in (_outside_hook(sys._getframe(1)), _of_main_thread()):
        frames = ReadingFrames(frame)
        if frames.reading is not None:
            return frames
    return None


def _outside_hook(frame):
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return frame


def here():
    """Of the calling thread; autograd's threads have no Python, so else of the main thread."""
    return _of_frame(sys._getframe(1)) or _of_frame(_of_main_thread())
