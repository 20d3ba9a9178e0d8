"""Asks NVML for its cards, by its binary interface, and torch for the same; prints JSON.

usage: nvml.py [--no-cuda]
"""

import ctypes
import json
import sys

NVML = ctypes.CDLL("libnvidia-ml.so.1")
NOT_SUPPORTED = 3


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def ask(name, *arguments):
    result = getattr(NVML, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name}: {result}")


def text(name, *arguments):
    buffer = ctypes.create_string_buffer(96)
    ask(name, *arguments, buffer, 96)
    return buffer.value.decode()


def card(index):
    handle = ctypes.c_void_p()
    ask("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(handle))
    memory = Memory()
    ask("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    power = ctypes.c_uint()
    assert NVML.nvmlDeviceGetPowerUsage(handle, ctypes.byref(power)) == NOT_SUPPORTED
    return {"name": text("nvmlDeviceGetName", handle), "uuid": text("nvmlDeviceGetUUID", handle),
            "total": memory.total, "used": memory.used}


def main():
    assert NVML.nvmlDeviceGetCount_v2(ctypes.byref(ctypes.c_uint())) == 1  # not initialized
    ask("nvmlInit_v2")
    count = ctypes.c_uint()
    ask("nvmlDeviceGetCount_v2", ctypes.byref(count))
    found = {"driver": text("nvmlSystemGetDriverVersion")}
    if "--no-cuda" not in sys.argv:
        import torch

        numbers = torch.zeros(1 << 20, device="cuda")
        free, total = torch.cuda.mem_get_info()
        properties = torch.cuda.get_device_properties(0)
        found["torch"] = {"count": torch.cuda.device_count(), "uuid": f"GPU-{properties.uuid}", "total": total,
                          "used": total - free, "bus": properties.pci_bus_id, "name": properties.name}
        del numbers
    found["cards"] = [card(index) for index in range(count.value)]
    ask("nvmlShutdown")
    print(json.dumps(found))


main()
