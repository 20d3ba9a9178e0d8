"""A memory budget in a test: `with peak_limit("12GiB"):` or `@peak_limit("12GiB")`, under any test framework.

Programs of `headroom dryrun` can import this module. On a real card, put its folder into PYTHONPATH.
"""

import contextlib
import re

UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def bytes_of(size):
    """Of "12GiB", "1.5GB" or a number of bytes. Raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", str(size).strip())
    if not found or found[2] not in UNITS:
        raise ValueError(f"peak_limit: '{size}' is no size; allowed: a number with {', '.join(filter(None, UNITS))} "
                         "(example: peak_limit('12GiB'))")
    return int(float(found[1]) * UNITS[found[2]])


@contextlib.contextmanager
def peak_limit(size, device=0):
    """Raises AssertionError if the allocated peak of the card is above `size`; tensors from before count too."""
    import torch

    most = bytes_of(size)
    torch.cuda.init()
    torch.cuda.reset_peak_memory_stats(device)
    yield
    peak = torch.cuda.max_memory_allocated(device)
    if peak > most:
        raise AssertionError(f"the allocated peak of card {device} is {peak:,} B, {peak - most:,} B more than {size}; "
                             "headroom dryrun --breakdown names the modules and the lines")
