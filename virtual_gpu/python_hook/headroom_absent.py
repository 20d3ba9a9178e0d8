"""A rank that runs alone: a rendezvous that answers for those who are absent.

Note [Absent ranks]
Rationale: one rank of a large job says what that rank needs; the others need not run.
Approach: in place of the program's store stands one of our own. A key that nobody set is one that an
  absent rank would have set: it holds what this rank set under the same name with its own number, or
  128 bytes, which is what NCCL's identity of a communicator is. Barriers are passed at once. Groups on
  the host are torch's fake ones; on the card NCCL's stand-in answers (virtual_gpu/nccl/carried.h).
Limits: values of absent ranks are this rank's own. A communicator is made, not split, so that its size
  is told.
"""

import hashlib
import os
import re
import sys

NCCL_ID_BYTES = 128
groups = []  # every group of the job, as lists of ranks: each rank makes them all
kept = []  # torch holds a store's C++ half only, which calls the Python one


def is_wanted():
    return os.environ.get("HEADROOM_VIRTUAL_ABSENT") == "1"


def shape(key):
    """What a name is but for its numbers."""
    return re.sub(r"\d+", "#", key)


def as_bytes(value):
    return value if isinstance(value, bytes) else str(value).encode()


def store_class(torch):
    class AloneStore(torch.distributed.Store):
        """One process's; nobody is waited for."""

        def __init__(self, *arguments, **named):
            super().__init__()
            self.known = {}
            kept.append(self)

        def set(self, key, value):
            self.known[key] = as_bytes(value)

        def get(self, key):
            if key in self.known:
                return self.known[key]
            alike = [value for name, value in self.known.items() if shape(name) == shape(key)]
            if alike:
                return alike[0]
            return (hashlib.sha512(key.encode()).digest() * 2)[:NCCL_ID_BYTES]

        def multi_get(self, keys):
            return [self.get(key) for key in keys]

        def add(self, key, value):
            self.known[key] = as_bytes(int(self.known.get(key, b"0")) + value)
            return int(self.known[key])

        def compare_set(self, key, expected, desired):
            if self.known.get(key, b"") == as_bytes(expected):
                self.known[key] = as_bytes(desired)
            return self.known.get(key, as_bytes(expected))

        def check(self, keys):
            return all(key in self.known for key in keys)

        def wait(self, keys, timeout=None):
            return None

        def delete_key(self, key):
            return self.known.pop(key, None) is not None

        def num_keys(self):
            return len(self.known)

        def set_timeout(self, timeout):
            return None

    return AloneStore


def on_host_alone(torch):
    """Groups on the host: torch's own that talks to nobody, under the name that was asked for."""
    import torch.testing._internal.distributed.fake_pg  # noqa: F401 (registers it)

    c10d = torch.distributed.distributed_c10d
    original = c10d.BackendConfig.get_device_backend_map

    def device_backend_map(self):
        return {
            device: "fake" if backend == "gloo" else backend
            for device, backend in original(self).items()
        }

    c10d.BackendConfig.get_device_backend_map = device_backend_map


def keep_own_objects(torch):
    """An absent root would send what this rank holds."""
    c10d = torch.distributed.distributed_c10d
    original = c10d.broadcast_object_list

    def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
        root = src
        if root is None and group_src is not None:
            root = c10d.get_global_rank(group or c10d._get_default_group(), group_src)
        if root == torch.distributed.get_rank():
            original(object_list, src=src, group=group, device=device, group_src=group_src)

    c10d.broadcast_object_list = broadcast_object_list
    torch.distributed.broadcast_object_list = broadcast_object_list


def note_groups(torch):
    """A split is told no sizes, so it becomes the groups that it would make."""
    c10d = torch.distributed.distributed_c10d
    make = c10d._new_group_with_tag

    def new_group(ranks=None, *arguments, **named):
        if ranks is not None and sorted(ranks) not in groups:
            groups.append(sorted(ranks))
        return make(ranks, *arguments, **named)

    def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None):
        own = None
        parent = parent_pg or c10d._get_default_group()
        for ranks in split_ranks:
            ranks = [c10d.get_global_rank(parent, rank) for rank in ranks]
            group = c10d.new_group(ranks, timeout=timeout, pg_options=pg_options, group_desc=group_desc)
            if torch.distributed.get_rank() in ranks:
                own = group
        return own

    c10d._new_group_with_tag = new_group
    for module in (torch.distributed, c10d, sys.modules.get("torch.distributed.device_mesh")):
        if hasattr(module, "split_group"):
            module.split_group = split_group


def stand_alone(torch):
    distributed = torch.distributed
    if not distributed.is_available():
        return
    # They ask the store from threads of their own, about ranks that are not there.
    for name in ("TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_DUMP_ON_TIMEOUT"):
        os.environ[name] = "0"
    alone = store_class(torch)
    # The name torch.distributed.rendezvous is a function's too.
    rendezvous = sys.modules["torch.distributed.rendezvous"]
    for module in (distributed, rendezvous, distributed.distributed_c10d):
        for name in ("TCPStore", "FileStore"):
            if hasattr(module, name):
                setattr(module, name, alone)
    distributed.distributed_c10d._get_split_source = lambda group: None
    on_host_alone(torch)
    note_groups(torch)
    keep_own_objects(torch)
