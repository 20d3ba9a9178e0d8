"""Runs when a Python starts under `headroom dryrun`: waits for `import torch`.

Imports nothing of its own weight; everything else is in headroom_dryrun.py, once torch is there. A
sitecustomize that this one hides runs as it would have.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _after_torch(torch):
    try:
        sys.path.insert(0, _HERE)  # the program may have taken it off
        try:
            import headroom_dryrun
        finally:
            sys.path.remove(_HERE)

        headroom_dryrun.torch_imported(torch)
    except Exception as error:  # the program goes on; SystemExit (a refused wheel) goes through
        sys.stderr.write(f"headroom dryrun: no allocator statistics of this process: {error!r}\n")


def _end_where_a_library_is_missing(torch, error):
    """A half-installed torch: its own error is a page long and names no remedy."""
    missing = str(error).split(": cannot open shared object file")
    if len(missing) > 1:
        sys.stderr.write(
            f"headroom dryrun: torch in {os.path.dirname(torch.__file__)} is not whole: no "
            f"{missing[0].split()[-1]}; install it again: pip install --force-reinstall torch\n"
        )
        raise SystemExit(5)


class _TorchFinder:
    """Lets the other finders find torch, and calls us when it has been executed."""

    def __init__(self):
        self.is_asking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.is_asking:
            return None
        self.is_asking = True
        try:
            specs = (f.find_spec(name, path, target) for f in list(sys.meta_path) if f is not self)
            spec = next((found for found in specs if found is not None), None)
        finally:
            self.is_asking = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self.watch(spec.loader)
        return spec

    def watch(self, loader):
        execute = loader.exec_module

        def exec_module(module):
            try:
                execute(module)
            except (ImportError, OSError) as error:
                _end_where_a_library_is_missing(module, error)
                raise
            if self in sys.meta_path:  # once
                sys.meta_path.remove(self)
                _after_torch(module)

        loader.exec_module = exec_module


def _run_hidden_sitecustomize():
    # importlib.util would cost more than all else here.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    rest = [p for p in sys.path if os.path.abspath(p or os.curdir) != _HERE]
    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("HEADROOM_VIRTUAL_REPORT"):
    if "torch" in sys.modules:
        _after_torch(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _TorchFinder())
_run_hidden_sitecustomize()
