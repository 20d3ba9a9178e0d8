"""What a line of Python does with a value of the card that it reads: the operation, and its use.

Of the instruction that is running, Python (3.11 and later) knows the place in the source; the
source says whether it stands in a condition, an index or a call of print. A value that is given a
name is followed to where the name is read, in the same function. Uses:
  "condition"  a test, or the length of a loop     "index"    of a list or a tensor
  "printed"    print, a logger or a format         ""         anything else, or not known
"""

import ast
import dis
import linecache

PRINTERS = {
    "print", "pprint", "write", "debug", "info", "warning", "error", "critical", "exception",
    "log", "format", "set_description", "set_postfix", "set_postfix_str", "add_scalar", "warn",
}  # fmt: skip
ALSO_NUMBERS = {"log", "error"}  # math.log() is no logger's: its result is used
# Their result is the value that is read; what others return (a model, backward()) is not.
VALUES = {
    "item", "tolist", "numpy", "cpu", "to", "float", "int", "complex", "equal", "allclose",
    "is_nonzero",
}  # fmt: skip
PASSED_ON = {
    "abs", "all", "any", "bool", "error", "exp", "float", "int", "isclose", "isfinite", "isinf",
    "isnan", "log", "max", "min", "pow", "round", "sorted", "sqrt", "str", "sum",
}  # fmt: skip
LENGTHS = {"range", "islice", "repeat"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
STRONGEST = ("condition", "index", "", "printed")
MOST_NAMES = 20  # followed from one read

_trees = {}  # file to its syntax tree


def _tree(name):
    if name not in _trees:
        try:
            _trees[name] = ast.parse("".join(linecache.getlines(name)))
        except (SyntaxError, ValueError, RecursionError):
            _trees[name] = ast.Module(body=[], type_ignores=[])
    return _trees[name]


def _position(frame):
    """(line, last line, column, last column), in bytes; columns are None before Python 3.11."""
    code = frame.f_code
    if hasattr(code, "co_positions"):
        for index, position in enumerate(code.co_positions()):
            if index == frame.f_lasti // 2 and None not in position:
                return position
    return frame.f_lineno, frame.f_lineno, None, None


def _spans(node, position):
    line, last_line, column, last_column = position
    if getattr(node, "lineno", None) is None:
        return False
    if column is None:
        return node.lineno <= line <= node.end_lineno
    return (node.lineno, node.col_offset) <= (line, column) and (
        (last_line, last_column) <= (node.end_lineno, node.end_col_offset)
    )


def _path(tree, position):
    """From the file to the smallest expression around the position."""
    path = [tree]
    while True:
        parts = ast.iter_child_nodes(path[-1])
        if isinstance(path[-1], ast.JoinedStr):
            parts = (part for part in parts if isinstance(part, ast.FormattedValue))
        found = next((part for part in parts if _reaches(part, position)), None)
        if found is None:
            return path
        path.append(found)


def _reaches(node, position):
    # Before Python 3.12 the parts of an f-string have the place of the whole.
    if isinstance(node, ast.FormattedValue):
        return any(_reaches(child, position) for child in ast.iter_child_nodes(node))
    if getattr(node, "lineno", None) is not None:
        return _spans(node, position)
    return any(_reaches(child, position) for child in ast.iter_child_nodes(node))


def _called(node):
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _operation(node, instruction):
    if "JUMP" in instruction or instruction in ("TO_BOOL", "UNARY_NOT"):
        return "bool"
    if isinstance(node, ast.Call):
        return _called(node)
    if isinstance(node, ast.Subscript):
        return "index"
    if isinstance(node, (ast.FormattedValue, ast.JoinedStr)):
        return "format"
    return ""


def _is_test(parent, child):
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return child is parent.test
    if isinstance(parent, ast.comprehension):
        return child in parent.ifs or child is parent.iter
    if isinstance(parent, (ast.For, ast.AsyncFor)):
        return child is parent.iter
    if isinstance(parent, ast.match_case):
        return child is parent.guard
    return isinstance(parent, ast.BoolOp) or (
        isinstance(parent, ast.Match) and child is parent.subject
    )


def _names(targets):
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _use(path, seen):
    """Of the value of the last expression of `path`."""
    for depth in range(len(path) - 2, -1, -1):
        parent, child = path[depth], path[depth + 1]
        if _is_test(parent, child):
            return "condition"
        if isinstance(parent, (ast.FormattedValue, ast.JoinedStr)):
            return "printed"
        if isinstance(parent, (ast.Subscript, ast.Slice)) and child is not getattr(
            parent, "value", None
        ):
            return "index"
        if isinstance(parent, ast.Call) and child is not parent.func:
            name = _called(parent)
            is_used = not isinstance(path[depth - 1], ast.Expr)
            if name in PRINTERS and not (name in ALSO_NUMBERS and is_used):
                return "printed"
            if name in LENGTHS:
                return "condition"
            if name not in PASSED_ON:
                return ""
        if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            later = _use_of_names(path[: depth + 1], targets, seen)
            if not isinstance(parent, ast.NamedExpr):
                return later
            return _strongest((later, _use(path[: depth + 1], seen)))
        elif isinstance(parent, ast.stmt):
            return "printed" if isinstance(parent, ast.Expr) and child is path[-1] else ""
    return ""


def _strongest(uses):
    return next((use for use in STRONGEST if use in uses), "printed")


def _is_plain(target):
    if isinstance(target, ast.Starred):
        return _is_plain(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(_is_plain(element) for element in target.elts)
    return isinstance(target, ast.Name)


def _scope(path, names):
    """Where the names may be read; None where that is not known."""
    inner = (n for n in reversed(path) if isinstance(n, (*FUNCTIONS, ast.ClassDef)))
    scope = next(inner, path[0])
    if isinstance(scope, ast.ClassDef):
        return None
    shared = (n for n in ast.walk(scope) if isinstance(n, (ast.Global, ast.Nonlocal)))
    return path[0] if any(names & set(n.names) for n in shared) else scope


def _use_of_names(path, targets, seen):
    """The strongest use of what is assigned; "" where it leaves the function."""
    if not all(_is_plain(target) for target in targets):
        return ""
    names = _names(targets) - seen
    seen |= names
    scope = _scope(path, names)
    if scope is None or len(seen) > MOST_NAMES:
        return ""
    return _strongest({_use(found, seen) for found in _loads(scope, names)})


def _loads(scope, names):
    """Paths from the scope to every place where one of the names is read."""
    stack = [[scope]]
    while stack:
        path = stack.pop()
        node = path[-1]
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            yield path
        stack.extend([*path, child] for child in ast.iter_child_nodes(node))


def of_frame(frame):
    """(operation, use) of what the frame is doing."""
    instruction = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    path = _path(_tree(frame.f_code.co_filename), _position(frame))
    operation = _operation(path[-1], instruction)
    if operation == "bool":
        return operation, "condition"
    if operation == "index":
        return operation, "index"
    if operation in PRINTERS or operation == "format":
        return operation, "printed"
    return operation, _use(path, set()) if operation in VALUES else ""
