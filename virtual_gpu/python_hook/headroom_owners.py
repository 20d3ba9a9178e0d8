"""Whose a block of memory is: parameters, buffers and gradients of modules, the state of optimizers.

Only weak references and addresses are kept. `library` is libheadroom_breakdown.so.
"""

import gc
import weakref
from array import array

MOST_OF_A_CLASS = 1000  # with a number of their own; a program may make a loss anew at each step
PARAMETERS, BUFFERS, GRADIENTS, OPTIMIZER_STATE, MASTER_WEIGHTS = range(5)  # in the order of category.h


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
    yield from tensors_of_quantization(tensor)


def tensors_of_quantization(holder):
    """bitsandbytes keeps scales beside the codes: of a parameter, and of its module, if FSDP made the parameter anew."""
    state = getattr(holder, "quant_state", None)
    for value in vars(state).values() if hasattr(state, "__dict__") else ():
        if hasattr(value, "untyped_storage"):
            yield value


def type_of(tensor):
    """Its name; of a shard with the type of the shard."""
    shard = getattr(tensor, "_local_tensor", None)
    name = type(tensor).__name__
    return name if type(shard).__name__ in ("NoneType", "Tensor", "Parameter") else f"{name} of {type_of(shard)}"


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
        self.plain = {torch.Tensor, torch.nn.Parameter, torch.nn.parameter.Buffer}
        self.modules = {}  # id: (weak reference, number of its path, path)
        self.roots = {}  # id: weak references of its tree
        self.parameters = {}  # id: (weak reference, number and path of its module)
        self.optimizers = {}  # id: (weak reference, number, name)
        self.classes = {}  # name: how many roots or optimizers have it
        self.root = None  # the one that ran last
        self.has_half = False  # a module has parameters in 16 bits

    def number(self, text):
        return self.library.headroom_breakdown_name(text.encode("utf-8", "replace"))

    def new_name(self, thing):
        name = type(thing).__name__
        count = self.classes[name] = min(self.classes.get(name, 0) + 1, MOST_OF_A_CLASS)
        return name if count == 1 else f"{name}#{count}"

    def number_of_module(self, module):
        known = self.modules.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        root = self.root() if self.root is not None else None
        if root is not None and (module._parameters or module._modules):  # a layer that is new
            self.learn(root)
        known = self.modules.get(id(module))
        if known is None or known[0]() is not module:
            self.learn(module)
        return self.modules[id(module)][1]

    def learn(self, root):
        """The paths of a tree of modules."""
        known = self.modules.get(id(root))
        path = self.new_name(root) if known is None or known[0]() is not root else known[2]
        tree = []
        for name, module in root.named_modules():
            whole = f"{path}.{name}" if name else path
            tree.append(weakref.ref(module))
            self.modules[id(module)] = (tree[-1], self.number(whole), whole)
            if module is not root:
                self.roots.pop(id(module), None)
        self.roots[id(root)] = tree
        if root._modules:
            self.root = tree[0]

    def runs(self, module):
        """A root: its tensors may be others than before."""
        number = self.number_of_module(module)
        tree = self.roots.get(id(module))
        if tree is not None:
            self.tag_tree(tree)
        return number

    def addresses(self, tensor, number, path):
        """Of its memory, with the owner's number: of a sharded or quantized tensor its type is in the name."""
        if tensor is None or not tensor.is_cuda:
            return
        if type(tensor) in self.plain and not hasattr(tensor, "quant_state"):
            yield tensor.data_ptr(), number
            return
        if path:
            number = self.number(f"{path} ({type_of(tensor)})")
        for plain in tensors_in(tensor):
            try:
                yield plain.untyped_storage().data_ptr(), number
            except (RuntimeError, NotImplementedError):  # no memory of its own
                continue

    def tag(self, purpose, owned):
        """owned: (tensor, number of its owner, path of its owner or "")."""
        words = array("Q")
        for one in owned:
            for pair in self.addresses(*one):
                words.extend(pair)
        if words:
            start, length = words.buffer_info()
            self.library.headroom_breakdown_tag(start, length // 2, purpose)

    def tag_tree(self, tree):
        known = [(module, *self.modules[id(module)][1:]) for module in (ref() for ref in tree)
                 if module is not None and id(module) in self.modules]
        parameters = [(p, number, path) for module, number, path in known
                      for p in module._parameters.values() if p is not None]
        self.tag(PARAMETERS, parameters)
        self.tag(PARAMETERS, [(t, number, path) for module, number, path in known
                              if type(module._parameters.get("weight")).__name__ == "DTensor"
                              for t in tensors_of_quantization(module)])
        self.has_half = self.has_half or any(p.dtype.itemsize == 2 for p, *_ in parameters)
        self.tag(BUFFERS, [(b, number, path) for module, number, path in known
                           for b in module._buffers.values()])
        for parameter, number, path in parameters:
            seen = self.parameters.get(id(parameter))
            if seen is None or seen[0]() is not parameter:
                self.parameters[id(parameter)] = (weakref.ref(parameter), number, path)

    def tag_gradients(self):
        live = ((ref(), number, path) for ref, number, path in list(self.parameters.values()))
        self.tag(GRADIENTS, [(p.grad, number, path) for p, number, path in live
                             if p is not None and p.requires_grad and p.is_leaf])

    def learn_optimizer(self, optimizer):
        """Number and name of its rows."""
        known = self.optimizers.get(id(optimizer))
        if known is None or known[0]() is not optimizer:
            name = f"{self.new_name(optimizer)} (optimizer)"
            known = self.optimizers[id(optimizer)] = weakref.ref(optimizer), self.number(name), name
        return known[1:]

    def number_of_optimizer(self, optimizer):
        return self.learn_optimizer(optimizer)[0]

    def see_optimizer(self, optimizer):
        """Also parameters that no module has; their gradients, before a hook of backward frees them."""
        own = self.number_of_optimizer(optimizer)
        gradients, alone = [], []
        for parameter in (p for group in optimizer.param_groups for p in group["params"]):
            known = self.parameters.get(id(parameter))
            if known is None or known[0]() is not parameter:
                alone.append((parameter, own, ""))
                known = None, own, ""
            gradients.append((parameter.grad, *known[1:]))
        for one in alone:
            is_master = self.has_half and one[0].dtype == self.torch.float32
            self.tag(MASTER_WEIGHTS if is_master else PARAMETERS, [one])
        self.tag(GRADIENTS, gradients)

    def tag_state(self, optimizer):
        number, name = self.learn_optimizer(optimizer)
        states = list(getattr(optimizer, "state", {}).values())  # torchao's CPUOffloadOptimizer has none
        self.tag(OPTIMIZER_STATE, [(t, number, name) for s in states for t in tensors_of_state(s)])
        # apex's fused optimizers keep them in an attribute.
        masters = [value for name, value in vars(optimizer).items() if "master" in name]
        self.tag(MASTER_WEIGHTS, [(t, number, "") for t in tensors_of_state(masters)])

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
        for tree in list(self.roots.values()):
            self.tag_tree(tree)
        for optimizer in found:
            if isinstance(optimizer, Optimizer):
                self.tag_state(optimizer)
