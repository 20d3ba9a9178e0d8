"""Whose a block of memory is: parameters, buffers and gradients of modules, the state of optimizers.

Only weak references and addresses are kept. `library` is libheadroom_breakdown.so.
"""

import gc
import weakref

MOST_OF_A_CLASS = 1000  # with a number of their own; a program may make a loss anew at each step
PARAMETERS, BUFFERS, GRADIENTS, OPTIMIZER_STATE = range(4)  # in the order of category.h


def tensors_in(tensor):
    """The plain tensors that hold a tensor's memory: of a DTensor its shard, of a quantized one its parts."""
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if flatten is not None:
        for name in flatten()[0]:
            inner = getattr(tensor, name)
            if inner is not None:
                yield from tensors_in(inner)
        return
    yield tensor
    state = getattr(tensor, "quant_state", None)  # bitsandbytes
    for value in vars(state).values() if hasattr(state, "__dict__") else ():
        if hasattr(value, "untyped_storage"):
            yield value


def tensors_of_state(value):
    """All tensors in a state of an optimizer."""
    if hasattr(value, "untyped_storage"):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from tensors_of_state(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors_of_state(inner)


class Owners:
    def __init__(self, torch, library):
        self.torch = torch
        self.library = library
        self.plain = (torch.Tensor, torch.nn.Parameter, torch.nn.parameter.Buffer)
        self.modules = {}  # id: (weak reference, number of its path, path)
        self.roots = {}  # id: weak reference
        self.optimizers = {}  # id: (weak reference, number)
        self.classes = {}  # name: how many roots or optimizers have it
        self.root = None  # the one that ran last

    def number(self, text):
        return self.library.headroom_breakdown_name(text.encode("utf-8", "replace"))

    def new_name(self, thing):
        name = type(thing).__name__
        count = self.classes[name] = min(self.classes.get(name, 0) + 1, MOST_OF_A_CLASS)
        return name if count == 1 else f"{name}#{count}"

    def number_of_module(self, module):
        known = self.modules.get(id(module))
        if known is not None and known[0]() is module:
            if id(module) in self.roots:
                self.root_runs(module)
            return known[1]
        root = self.root() if self.root is not None else None
        if root is not None and (module._parameters or module._modules):  # a layer that is new
            self.learn(root)
        known = self.modules.get(id(module))
        if known is None or known[0]() is not module:
            self.learn(module)
        return self.modules[id(module)][1]

    def learn(self, root):
        """The paths of a tree of modules, and the owners of their memory."""
        known = self.modules.get(id(root))
        if known is None or known[0]() is not root:
            path = self.new_name(root)
        else:
            path = known[2]
        for name, module in root.named_modules():
            whole = f"{path}.{name}" if name else path
            self.modules[id(module)] = (weakref.ref(module), self.number(whole), whole)
            if module is not root:
                self.roots.pop(id(module), None)
        self.roots[id(root)] = weakref.ref(root)
        self.root_runs(root)

    def root_runs(self, root):
        if root._modules:
            self.root = self.roots[id(root)]
        self.tag_tree(root)

    def tag(self, tensor, purpose, number, path=""):
        """A sharded or quantized tensor has its type in the owner's name."""
        if tensor is None or not tensor.is_cuda:
            return
        if path and type(tensor) not in self.plain:
            number = self.number(f"{path} ({type(tensor).__name__})")
        for plain in tensors_in(tensor):
            try:
                address = plain.untyped_storage().data_ptr()
            except (RuntimeError, NotImplementedError):  # no memory of its own
                continue
            if address:
                self.library.headroom_breakdown_tag(address, purpose, number)

    def tag_tree(self, root):
        for module in root.modules():
            known = self.modules.get(id(module))
            if known is None:
                continue
            for parameter in module._parameters.values():
                self.tag(parameter, PARAMETERS, *known[1:])
            for buffer in module._buffers.values():
                self.tag(buffer, BUFFERS, *known[1:])

    def live_modules(self):
        for reference, number, path in list(self.modules.values()):
            module = reference()
            if module is not None:
                yield module, number, path

    def tag_gradients(self):
        for module, number, path in self.live_modules():
            for parameter in module._parameters.values():
                if parameter is not None and parameter.is_leaf:
                    self.tag(parameter.grad, GRADIENTS, number, path)

    def number_of_optimizer(self, optimizer):
        known = self.optimizers.get(id(optimizer))
        if known is None or known[0]() is not optimizer:
            known = weakref.ref(optimizer), self.number(f"{self.new_name(optimizer)} (optimizer)")
            self.optimizers[id(optimizer)] = known
        return known[1]

    def see_optimizer(self, optimizer):
        """Also parameters and gradients that no module has."""
        number = self.number_of_optimizer(optimizer)
        self.tag_gradients()
        owned = {id(p) for m, _, _ in self.live_modules() for p in m._parameters.values()}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in owned:
                    self.tag(parameter, PARAMETERS, number)
                    self.tag(parameter.grad, GRADIENTS, number)

    def tag_state(self, optimizer):
        number = self.number_of_optimizer(optimizer)
        for state in list(optimizer.state.values()):
            for tensor in tensors_of_state(state):
                self.tag(tensor, OPTIMIZER_STATE, number)

    def find_all(self):
        """Modules and optimizers that have not run yet, too."""
        Module, Optimizer = self.torch.nn.Module, self.torch.optim.Optimizer
        things = gc.get_objects()
        found = [thing for thing in things if issubclass(type(thing), (Module, Optimizer))]
        del things
        unknown = [m for m in found if isinstance(m, Module) and id(m) not in self.modules]
        children = {id(child) for m in unknown for child in m._modules.values()}
        for module in unknown:
            if id(module) not in children:
                self.learn(module)
        for optimizer in found:
            if isinstance(optimizer, Optimizer):
                self.tag_state(optimizer)
