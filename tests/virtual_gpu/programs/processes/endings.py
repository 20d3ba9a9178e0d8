"""Uses the card, tries a tool that is not installed, and ends by the argument's way."""
import atexit
import os
import signal
import subprocess
import sys


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


if "killed" in sys.argv:
    atexit.register(kill)  # the first one in is the last one called

import torch  # noqa: E402

MEBI = 2**20
if "successor" in sys.argv:
    torch.empty(3 * MEBI, dtype=torch.uint8, device="cuda")
    sys.exit()
first = torch.empty(4 * MEBI, dtype=torch.uint8, device="cuda")
try:
    subprocess.run(["/nosuch/tool"])
except FileNotFoundError:
    pass
second = torch.empty(4 * MEBI, dtype=torch.uint8, device="cuda")
sys.stdout.flush()
for name in ("SIGTERM", "SIGHUP"):
    if name in sys.argv:
        os.kill(os.getpid(), getattr(signal, name))
        print("goes on")
if "_exit" in sys.argv:
    os._exit(0)
if "replaced" in sys.argv:
    os.execv(sys.executable, [sys.executable, __file__, "successor"])
