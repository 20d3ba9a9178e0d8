"""Reads without end and is interrupted again and again; then a handler of its own ends it."""
import os
import random
import signal
import sys
import threading
import time

import torch

value = torch.zeros((), device="cuda")
count = 0


def send(number):
    time.sleep(0.01 + 0.002 * random.random())
    os.kill(os.getpid(), number)


def read_until(number, error):
    """Whatever Python is doing when the signal comes, its handler's error comes out here."""
    sender = threading.Thread(target=send, args=[number])
    try:
        sender.start()
        while True:
            value.item()
    except error as found:
        sender.join()
        return found


for _ in range(100):
    read_until(signal.SIGINT, KeyboardInterrupt)
    count += 1
for code in range(50):
    signal.signal(signal.SIGTERM, lambda *_, code=code: sys.exit(code))
    assert read_until(signal.SIGTERM, SystemExit).code == code
print(count, flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(33))
threading.Thread(target=send, args=[signal.SIGTERM]).start()
while True:
    value.item()
