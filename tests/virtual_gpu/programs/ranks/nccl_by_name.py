"""A program that asks NCCL itself, by name, as inference engines do."""

import ctypes

import torch


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


def main() -> None:
    nccl = ctypes.CDLL("libnccl.so.2")
    values = torch.ones(4, device="cuda")
    identity = UniqueId()
    assert nccl.ncclGetUniqueId(ctypes.byref(identity)) == 0
    communicator = ctypes.c_void_p()
    assert nccl.ncclCommInitRank(ctypes.byref(communicator), 1, identity, 0) == 0
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    pointer = ctypes.c_void_p(values.data_ptr())
    float32, add = 7, 0
    assert nccl.ncclAllReduce(pointer, pointer, ctypes.c_size_t(4), float32, add, communicator,
                              stream) == 0
    assert nccl.ncclCommDestroy(communicator) == 0


if __name__ == "__main__":
    main()
