"""A rank that runs alone: a rendezvous that answers for those who are absent.

Note [Absent ranks]
Rationale: one rank of a large job says what that rank needs; the others need not run.
Approach: in place of the program's store stands one of our own. A key that nobody set is one that an
  absent rank would have set: it holds what this rank set under the same name with its own number, or
  128 bytes, which is what NCCL's identity of a communicator is. Barriers are passed at once. Groups on
  the host are torch's fake ones; on the card NCCL's stand-in answers (virtual_gpu/nccl/values/carried.h).
  Ranks of one dry run that ran before are not quite absent: their communicators have the identities
  that they gave them, so a receive finds what they sent.
Limits: values of absent ranks are this rank's own; an object from one that has not run is refused. A
  communicator is made, not split, so that its size is told.
"""

import functools
import hashlib
import inspect
import os
import pickle
import re
import sys
import threading

NCCL_ID_BYTES = 128
groups = {}  # every group of the job, by its ranks: each rank makes them all
kept = []  # torch holds a store's C++ half only, which calls the Python one


def is_wanted():
    return os.environ.get("HEADROOM_VIRTUAL_ABSENT") == "1"


def shape(key):
    """What a name is but for its numbers."""
    return re.sub(r"\d+", "#", key)


def as_bytes(value):
    return value if isinstance(value, bytes) else str(value).encode()


def identity_file(key):
    """Where the identity that a rank gave a communicator waits for later ones; None: nowhere."""
    job = os.environ.get("HEADROOM_VIRTUAL_JOB")
    return job and f"{job}.identity.{hashlib.sha1(key.encode()).hexdigest()}"


def keep_identity(key, value):
    path = identity_file(key)
    if path and len(value) == NCCL_ID_BYTES:
        with open(path, "wb") as file:
            file.write(value)


def identity(key):
    path = identity_file(key)
    if path and os.path.exists(path):
        with open(path, "rb") as file:
            return file.read()
    return (hashlib.sha512(key.encode()).digest() * 2)[:NCCL_ID_BYTES]


def store_class(torch):
    class AloneStore(torch.distributed.Store):
        """One process's; nobody is waited for."""

        def __init__(self, *arguments, **named):
            super().__init__()
            self.known = {}
            kept.append(self)

        def set(self, key, value):
            self.known[key] = as_bytes(value)
            keep_identity(key, self.known[key])

        def get(self, key):
            if key in self.known:
                return self.known[key]
            for name, value in self.known.items():
                if shape(name) == shape(key) and len(value) != NCCL_ID_BYTES:
                    return value
            return identity(key)

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


def put(torch, name, function):
    """In place of torch.distributed's."""
    for module in (torch.distributed, torch.distributed.distributed_c10d):
        setattr(module, name, function)


def root_in(c10d, group, source, group_source):
    """Of a group: a root is named by its rank among all, or in the group."""
    return c10d.get_group_rank(group, source or 0) if group_source is None else group_source


def keep_own_objects(torch):
    """An absent root would send what this rank holds, and by as many collectives."""
    c10d = torch.distributed.distributed_c10d
    original = c10d.broadcast_object_list

    def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
        group = c10d._group_or_default_group(group)
        root = root_in(c10d, group, src, group_src)
        if c10d._rank_not_in_group(group) or group.rank() == root:
            return original(object_list, group=group, device=device, group_src=root)
        card = device or c10d._get_object_coll_device(group)
        pickled = [c10d._object_to_tensor(held, card, group) for held in object_list]
        for parts in ([size for _, size in pickled], [content for content, _ in pickled]):
            c10d.broadcast(torch.cat(parts), group_src=root, group=group)
        return None

    put(torch, "broadcast_object_list", broadcast_object_list)


def echo_objects_of_roots(torch):
    """The root of a gather holds its own object for each absent rank, that of a scatter its part:
    NCCL gathers by receives, and a group on the host moves nothing."""
    c10d = torch.distributed.distributed_c10d
    gather, scatter, unpickled = c10d.gather_object, c10d.scatter_object_list, c10d._tensor_to_object
    own = threading.local()

    def tensor_to_object(*arguments):
        pickled = getattr(own, "pickled", None)
        return unpickled(*arguments) if pickled is None else pickle.loads(pickled)

    def gather_object(obj, *arguments, **named):
        own.pickled = pickle.dumps(obj)
        try:
            return gather(obj, *arguments, **named)
        finally:
            own.pickled = None

    @functools.wraps(scatter)
    def scatter_object_list(*arguments, **named):
        asked = inspect.signature(scatter).bind(*arguments, **named).arguments
        group = asked.get("group") or c10d._get_default_group()
        root = root_in(c10d, group, asked.get("src"), asked.get("group_src"))
        if group.rank() == root:
            own.pickled = pickle.dumps(asked["scatter_object_input_list"][root])
        try:
            return scatter(*arguments, **named)
        finally:
            own.pickled = None

    c10d._tensor_to_object = tensor_to_object
    put(torch, "gather_object", gather_object)
    put(torch, "scatter_object_list", scatter_object_list)


def refuse_unknown_objects(torch, name):
    """What an absent rank would have sent nobody knows: of zero bytes nothing is unpickled."""
    c10d = torch.distributed.distributed_c10d
    original = getattr(c10d, name)

    @functools.wraps(original)
    def received(*arguments, **named):
        try:
            return original(*arguments, **named)
        except (EOFError, pickle.UnpicklingError):
            asked = inspect.signature(original).bind(*arguments, **named).arguments
            source, group = asked.get("src"), asked.get("group") or c10d._get_default_group()
            if source is None:
                source = c10d.get_global_rank(group, asked.get("group_src", 0))
            rank = torch.distributed.get_rank()
            sys.stderr.write(
                f"headroom dryrun: rank {rank} runs alone and waits for an object of rank {source}, "
                f"which has not run: run it first (--rank {source},{rank}), run all ranks "
                "together, or "
                "give a pipeline's stages their shapes (input_args and output_args)\n"
            )
            raise SystemExit(5) from None

    put(torch, name, received)


def note_groups(torch):
    """A split is told no sizes, so it becomes the groups that it would make."""
    c10d = torch.distributed.distributed_c10d
    make = c10d._new_group_with_tag

    def new_group(ranks=None, *arguments, **named):
        if ranks is not None:
            groups[tuple(sorted(ranks))] = True
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
    echo_objects_of_roots(torch)
    for name in ("recv_object_list", "scatter_object_list"):
        refuse_unknown_objects(torch, name)
    keep_own_objects(torch)
