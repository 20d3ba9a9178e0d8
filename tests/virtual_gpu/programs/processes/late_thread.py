"""Ends while a C++ thread waits for Python's lock; the argument is programs/late_thread.cpp, built."""
import ctypes
import sys

ctypes.CDLL(sys.argv[1]).start_late_thread()
print("the last line", flush=True)
