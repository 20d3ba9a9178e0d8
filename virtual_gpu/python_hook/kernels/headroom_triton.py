"""Tells the virtual GPU which arguments a Triton kernel only reads.

Note [Arguments that Triton kernels read]
Rationale: a kernel may write through every pointer that it gets, so the known values behind them are
  lost at its launch. Serving engines give their kernels the lengths of requests, and plan by them later.
Approach: Triton keeps the program of each kernel as text (TTIR). Pointers flow from the arguments through
  its operations; those that reach the target of a store, or an operation that is not in a list of
  operations without writes, may be written.
Limits: a kernel that calls another function, or stores through a pointer that it made from a number or
  loaded, may write all. Pointers that one loop carries count as one.
"""

import ctypes
import re

import headroom_imports

_NAME = re.compile(r"%[\w.$-]+")
_ARGUMENT = re.compile(r"(%[\w.$-]+): (!tt\.\w+|\w+)")
_OPERATION = re.compile(r'^(?:[^"=]+ = )?"?([a-z_]+\.[a-z_.]+)')
_NOT_FOLLOWED = ("tt.call", "!tt.tensordesc")
_ANYTHING = "*"  # the source of a pointer that is no argument
_WITHOUT_WRITES = re.compile(
    r"arith\.|math\.|scf\.|cf\.|ub\.poison|tt\.(addptr|advance|assert|bitcast|broadcast|cat|clampf|dot|dot_scaled|"
    r"expand_dims|fp_to_fp|gather|get_num_programs|get_program_id|histogram|int_to_ptr|join|load|make_range|"
    r"make_tensor_ptr|mulhiui|precise_\w+|ptr_to_int|reduce|reduce\.return|reshape|return|scan|scan\.return|splat|split|"
    r"trans|unsplat)$"
)


class _Flow:
    """The arguments that each value of a program points into."""

    def __init__(self, arguments):
        self.sources = {name: {name} for name in arguments}
        self.written = set()

    def of(self, names):
        return set().union(*(self.sources.get(name, ()) for name in names))

    def add(self, names, sources):
        for name in names:
            self.sources.setdefault(name, set()).update(sources)

    def size(self):
        return sum(map(len, self.sources.values())) + len(self.written)

    def read(self, lines):
        """Once through the program. A region's values, and those that blocks pass on, are one each."""
        regions, blocks = [], set()
        for line in lines:
            if line.startswith("^"):
                blocks.update(_NAME.findall(line))
                if regions:
                    regions[-1].update(_NAME.findall(line))
                continue
            if line in ("} else {", "} do {"):
                continue
            if line.startswith("}") and regions:
                regions.pop()
            found = _OPERATION.match(line)
            if found is not None:
                self.read_operation(found.group(1), line, regions, blocks)
            if line.endswith("{"):
                regions.append(set(_NAME.findall(line)))
        self.add(blocks, self.of(blocks))

    def read_operation(self, operation, line, regions, blocks):
        results, equals, rest = line.partition(" = ")
        if not equals or not results.startswith("%"):
            results, rest = "", line
        operands = _NAME.findall(rest)
        if operation in ("scf.yield", "scf.condition"):
            joined = regions[-1] | set(operands) if regions else set(operands)
            self.add(joined, self.of(joined))
        elif operation.startswith("cf."):
            blocks.update(operands)
        elif operation.startswith("scf."):
            names = set(_NAME.findall(line))
            self.add(names, self.of(names))
        elif operation == "tt.store":
            self.written |= self.of(operands[:1])
        elif not _WITHOUT_WRITES.match(operation):
            self.written |= self.of(operands)
        if operation == "tt.load":
            sources = {_ANYTHING} if "!tt.ptr<!tt.ptr" in line else set()
        elif operation == "tt.int_to_ptr":
            sources = self.of(operands) | {_ANYTHING}
        else:
            sources = self.of(operands[:1] if operation in ("tt.addptr", "tt.advance") else operands)
        self.add(_NAME.findall(results), sources)


def parameters(program):
    """A letter for each parameter of a kernel in TTIR: r read, w written, n a number. None: unknown."""
    program = re.sub(r" loc\((?:[^()]|\([^()]*\))*\)", "", program)
    if program.count("tt.func ") != 1 or any(word in program for word in _NOT_FOLLOWED):
        return None
    lines = [line.strip() for line in program.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("tt.func "))
    arguments = dict(_ARGUMENT.findall(lines[start]))
    flow = _Flow(name for name, kind in arguments.items() if kind == "!tt.ptr")
    size = -1
    while size != flow.size():
        size = flow.size()
        flow.read(lines[start + 1 :])
    if _ANYTHING in flow.written:
        return None
    return "".join(
        "n" if kind != "!tt.ptr" else "w" if name in flow.written else "r"
        for name, kind in arguments.items()
    )


def _described(kernel):
    """The letters of a kernel that Triton compiled; None where it has no program or may write all."""
    return parameters(kernel.asm["ttir"]) if "ttir" in kernel.asm else None


def _describe(function, letters):
    if function and letters is not None:
        describe = ctypes.CDLL(None).virtual_gpu_kernel_parameters
        describe.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
        describe(function, letters.encode())


def _triton(module):
    load = module.CompiledKernel._init_handles

    def load_and_describe(self):
        is_new = self.module is None
        result = load(self)
        if is_new:
            _describe(self.function, _described(self))
        return result

    module.CompiledKernel._init_handles = load_and_describe


def _inductor(kind):
    """torch.compile loads its kernels itself, perhaps from a cache, which stores the letters with them."""
    make, load = kind.__init__, kind.load_kernel

    def make_with_letters(self, kernel):
        make(self, kernel)
        self.headroom_letters = _described(kernel)

    def load_and_describe(self, device):
        is_new = self.function is None
        load(self, device)
        if is_new:
            _describe(self.function, getattr(self, "headroom_letters", None))

    kind.__init__, kind.load_kernel = make_with_letters, load_and_describe


def answer():
    inductor = "torch._inductor.runtime.static_"
    changes = {
        "triton.compiler.compiler": _triton,
        f"{inductor}triton_launcher": lambda module: _inductor(module.StaticallyLaunchedTritonKernel),
        f"{inductor}cuda_launcher": lambda module: _inductor(module.StaticallyLaunchedCudaKernel),
    }
    loss = "Triton kernels may write all that they have a pointer to"
    headroom_imports.change({name: headroom_imports.or_told(change, loss) for name, change in changes.items()})
