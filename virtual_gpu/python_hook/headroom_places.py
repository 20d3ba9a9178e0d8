"""Which line of the user's program is running: "train.py:42 in forward"."""

import os
import sys
import threading

torch_folder = os.sep + "torch" + os.sep
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
STANDARD = os.path.dirname(os.__file__) + os.sep


def _is_torch(name):
    return name.startswith((torch_folder, HERE, "<frozen")) or "torchinductor_" in name


def _is_package(name):
    return name.startswith(STANDARD) or any(folder in name for folder in PACKAGES)


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


def here():
    """Of the calling thread; autograd's threads have no Python, so else of the main thread."""
    found = _of_frame(sys._getframe(1))
    if found:
        return found
    return _of_frame(sys._current_frames().get(threading.main_thread().ident))
