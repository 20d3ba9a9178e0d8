"""The one libtorch that headroom's own C++ in the process was compiled for, and what another one lacks."""

import ctypes


def built_for():
    """Of the observer (bench/dryrun/observer.cpp): "2.11"; "" without it."""
    try:
        version = ctypes.CDLL(None).headroom_observed_torch
    except AttributeError:
        return ""
    version.restype = ctypes.c_char_p
    return version().decode()


def is_for(torch):
    return torch.__version__.startswith(built_for() + ".")


def lacks(torch, host_reads):
    """Sentences for the report: what has an effect on this program."""
    if is_for(torch) or not host_reads:
        return []
    return [
        "results of operations on known values are unknown: headroom is built for torch "
        f"{built_for()}"
    ]
