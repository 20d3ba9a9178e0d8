"""Reads and writes safetensors files: 8 bytes of header length, a JSON header, the data."""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path

import torch
from torch import Tensor

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def load(path: Path) -> dict[str, Tensor]:
    """Tensors that share one private mapping of the file; copy them before keeping them."""
    with path.open("rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    (header_bytes,) = struct.unpack_from("<Q", mapping)
    header = json.loads(mapping[8 : 8 + header_bytes])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = DTYPES[entry["dtype"]]
        if begin == end:
            tensors[name] = torch.empty(entry["shape"], dtype=dtype)
            continue
        count = (end - begin) // dtype.itemsize
        flat = torch.frombuffer(mapping, dtype=dtype, count=count, offset=8 + header_bytes + begin)
        tensors[name] = flat.view(entry["shape"])
    return tensors


def save(path: Path, tensors: dict[str, Tensor]) -> None:
    header: dict[str, object] = {}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            raw = tensor.detach().cpu().contiguous().view(torch.uint8)
            file.write(raw.numpy().tobytes())
