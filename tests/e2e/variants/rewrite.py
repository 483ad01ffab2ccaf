"""Rewrites a program into another that fails for the same reason, through its syntax tree and independent of names.

Each function changes a Program in place and keeps track of the statement that a verdict must point at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

#: calls of torch.distributed that a training library would put behind an interface of its own
COLLECTIVES = frozenset(
    {
        *("all_gather", "all_gather_object", "all_reduce", "all_to_all_single", "barrier", "broadcast"),
        *("broadcast_object_list", "gather", "monitored_barrier", "recv", "reduce", "reduce_scatter", "send"),
    }
)
#: calls in which ranks are told by their numbers, so that the numbers cannot be dealt out anew
_BY_NUMBER = frozenset({"isend", "irecv", "recv", "send"})
_NUMBERED = frozenset({"dst", "rank", "ranks", "src"})

_TURNED = '''
def turned(rank, size):
    """The place of a process in the job: the machines are counted from another one on."""
    return (rank + 1) % size
'''
_DEEPENED = '''
class Deepened(torch.nn.Module):
    """A network with adapters beside it, which add nothing yet, and a counter of its calls."""

    def __init__(self, network):
        super().__init__()
        self.network = network
        self.adapters = torch.nn.ModuleList(torch.nn.Linear(512, 512) for _ in range(2))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, *args, **kwargs):
        seen = self.network(*args, **kwargs)
        self.calls += 1
        nothing = sum(parameter.sum() for parameter in self.adapters.parameters()) * 0.0
        return tuple(part + nothing for part in seen) if isinstance(seen, tuple) else seen + nothing
'''
_SPAWNING = '''
def start_rank(index, size, port):
    """One process of the job, as a launcher would have started it."""
    place = {{"RANK": str({place}), "LOCAL_RANK": str(index), "WORLD_SIZE": str(size)}}
    os.environ.update(place, MASTER_ADDR="localhost", MASTER_PORT=str(port))
    main()


def start_all(size):
    with socket.create_server(("localhost", 0)) as probe:
        port = probe.getsockname()[1]
    torch.multiprocessing.spawn(start_rank, (size, port), nprocs=size)
'''
_LIBRARY = '''"""One interface to the collectives of every backend."""

import torch.distributed as dist


def _issue(operation, args, kwargs):
    return operation(*args, **kwargs)
'''
_OPERATION = """

def {name}(*args, **kwargs):
    return _issue(dist.{name}, args, kwargs)
"""


class Program:
    """A syntax tree, and the statement in it at which the verdict must point."""

    def __init__(self, source: str, line: int) -> None:
        self.tree = ast.parse(source)
        found = list(_statements(self.tree))
        nearest = max(statement.lineno for statement in found if statement.lineno <= line)
        self.statement = [statement for statement in found if statement.lineno == nearest][-1]

    def text(self) -> tuple[str, int]:
        """The current program, and the line of the statement."""
        number = next(n for n, statement in enumerate(_statements(self.tree)) if statement is self.statement)
        text = ast.unparse(ast.fix_missing_locations(self.tree)) + "\n"
        return text, list(_statements(ast.parse(text)))[number].lineno

    def add(self, code: str) -> None:
        """Put definitions after the imports."""
        last = max(n for n, node in enumerate(self.tree.body) if isinstance(node, (ast.Import, ast.ImportFrom)))
        self.tree.body[last + 1 : last + 1] = ast.parse(code).body


def told_by_number(program: Program) -> bool:
    """Does it address other ranks by their numbers anywhere?"""
    for call in _calls(program.tree):
        name = _called(call)
        if name in _BY_NUMBER or (name == "new_group" and call.args):
            return True
        if any(keyword.arg in _NUMBERED for keyword in call.keywords):
            return True
    return False


def turn(program: Program) -> None:
    """Every rank takes the part of the next one, so that another one is to blame: one less, modulo their number."""

    class Turning(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            if _called(node) == "get_rank" and not node.args:
                return _expression(f"turned({ast.unparse(node)}, dist.get_world_size())")
            if ast.unparse(node) == "int(os.environ['RANK'])":
                return _expression(f"turned({ast.unparse(node)}, int(os.environ['WORLD_SIZE']))")
            return node

    Turning().visit(program.tree)
    program.add(_TURNED)


def deepen(program: Program) -> bool:
    """Give the model more parameters, more buckets and a buffer, which DDP broadcasts; False where DDP is not used."""
    wrapped = [call for call in _calls(program.tree) if _called(call) == "DistributedDataParallel" and call.args]
    for call in wrapped:
        call.args[0] = ast.Call(ast.Name("Deepened", ast.Load()), [call.args[0]], [])
        call.keywords.append(ast.keyword("bucket_cap_mb", ast.Constant(1)))
    if wrapped:
        program.add(_DEEPENED)
    return bool(wrapped)


def hide_collectives(program: Program, library: str) -> str:
    """Call collectives through a module of that name, whose source is returned; "" if there are none."""
    names = set()
    for call in _calls(program.tree):
        match call.func:
            case ast.Attribute(value=ast.Name(id="dist"), attr=name) if name in COLLECTIVES:
                call.func = ast.Attribute(ast.Name("fabric", ast.Load()), name, ast.Load())
                names.add(name)
    if not names:
        return ""
    program.add(f"import {library} as fabric")
    return _LIBRARY + "".join(_OPERATION.format(name=name) for name in sorted(names))


def spawn(program: Program, ranks: int, *, turned: bool) -> None:
    """Start the ranks with torch.multiprocessing instead of a launcher; `turned`: in another order."""
    program.add(_SPAWNING.format(place="(index + 1) % size" if turned else "index"))
    program.add("import os, socket\nimport torch.multiprocessing")
    guard = program.tree.body[-1]
    if not isinstance(guard, ast.If):
        raise TypeError("the program does not end with its guard")
    guard.body = ast.parse(f"start_all({ranks})").body


def _statements(tree: ast.AST) -> Iterator[ast.stmt | ast.ExceptHandler]:
    """All statements and handlers, in the order of the tree."""
    if isinstance(tree, (ast.stmt, ast.ExceptHandler)):
        yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _statements(child)


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    """Last part of the name of what is called, "" where it has none."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
