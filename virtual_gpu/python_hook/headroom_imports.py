"""Changes modules of the program when it imports them."""

import sys


class _Finder:
    """Lets the other finders find these modules, and changes each when it has been executed."""

    def __init__(self, changes):
        self.changes = changes
        self.asked = set()

    def find_spec(self, name, path=None, target=None):
        if name not in self.changes or name in self.asked:
            return None
        self.asked.add(name)
        try:
            specs = (
                finder.find_spec(name, path, target)
                for finder in list(sys.meta_path)
                if finder is not self
            )
            spec = next((found for found in specs if found is not None), None)
        finally:
            self.asked.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                self.changes[name](module)

            spec.loader.exec_module = exec_module
        return spec


def change(changes):
    """changes: a module's name to a function of the module, which raises nothing."""
    sys.meta_path.insert(0, _Finder(changes))
    for name, function in changes.items():
        if name in sys.modules:
            function(sys.modules[name])


def or_told(function, loss):
    """For change(): says what is lost where another version of the module lacks what the function takes."""

    def changed(module):
        try:
            function(module)
        except AttributeError as error:
            name = module.__name__
            sys.stderr.write(f"headroom dryrun: {name} is not as expected, so {loss}: {error}\n")

    return changed
