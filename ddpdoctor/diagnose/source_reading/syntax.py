"""What single statements do: the lines they stand on, what they call, yield and return."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from ddpdoctor.model import c10d

#: torch.distributed's collectives, as programs call them.
_COLLECTIVES = frozenset(row.name for row in c10d.FUNCTIONS.values() if row.collective)
#: Methods that everything has: a call of one says nothing about which function is meant.
_COMMON = frozenset({"step", "forward", "backward", "train", "eval", "zero_grad", "update", "get", "close"})


def takes_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def returned(stmt: ast.AST | None) -> bool | None:
    """Whether a `return` gives something true; None where that is not known."""
    if not isinstance(stmt, ast.Return):
        return None
    if stmt.value is None:
        return False
    return bool(stmt.value.value) if isinstance(stmt.value, ast.Constant) else None


def lines_of(stmt: ast.AST | None) -> tuple[int, int]:
    if stmt is None:
        return 0, -1
    first = int(getattr(stmt, "lineno", 0))
    if hasattr(stmt, "body") or isinstance(stmt, ast.Match):
        return first, max((part.end_lineno or first for part in head(stmt)), default=first)
    return first, int(getattr(stmt, "end_lineno", None) or first)


def head(stmt: ast.AST) -> Iterator[ast.expr]:
    """The expressions that the statement itself evaluates, not those of the statements inside it."""
    match stmt:
        case ast.If() | ast.While():
            yield stmt.test
        case ast.For() | ast.AsyncFor():
            yield stmt.iter
        case ast.With() | ast.AsyncWith():
            yield from (item.context_expr for item in stmt.items)
        case ast.Match():
            yield stmt.subject
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.ExceptHandler():
            return
        case _:
            yield from (child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.expr))


def called_by(stmt: ast.AST | None) -> Iterator[tuple[str, str]]:
    """Functions that a statement calls, without methods of which anything may be meant.

    (last name, first name) of each: `torch.save()` is ("save", "torch"), `save()` is ("save", "save").
    """
    for part in head(stmt) if stmt else ():
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield node.func.id, node.func.id
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in _COMMON:
                yield node.func.attr, _root(node.func)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def imported(tree: ast.AST) -> dict[str, frozenset[str]]:
    """Names that a file imports -> the words of the module's path and of the name there."""
    found: dict[str, frozenset[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                found[name.asname or name.name.partition(".")[0]] = frozenset(name.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                found[name.asname or name.name] = frozenset({*(node.module or "").split("."), name.name} - {""})
    everything = found.pop("*", None)
    if everything is not None:
        found |= {name: everything | {name} for name in _unbound(tree) - found.keys()}
    return found


def _unbound(tree: ast.AST) -> set[str]:
    """Names that a file reads and never sets."""
    read: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
    return read - bound


def called_on(stmt: ast.AST | None) -> Iterator[tuple[str, str]]:
    """(variable or attribute, method) of each `name.method()` and `owner.name.method()` that a statement calls."""
    for part in head(stmt) if stmt else ():
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                holder = node.func.value
                name = holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")
                if name and name != "self":
                    yield name, node.func.attr


def objects(trees: Iterable[ast.Module]) -> dict[str, str]:
    """Variables and attributes -> the class of the program that they hold objects of, if it is the same everywhere."""
    held: dict[str, set[str]] = {}
    every = [node for tree in trees for node in ast.walk(tree)]
    classes = {node.name for node in every if isinstance(node, ast.ClassDef)}
    for node in every:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                held.setdefault(_held_as(target), set()).add(_class_made(node.value, classes))
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            held.setdefault(_held_as(node), set())
        elif isinstance(node, ast.arg):
            held.setdefault(node.arg, set()).add("")
    return {name: next(iter(made)) for name, made in held.items() if name and len(made) == 1 and made != {""}}


def _held_as(target: ast.expr) -> str:
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _class_made(value: ast.expr, classes: set[str]) -> str:
    """`Ema(net)`, `Ema(net) if rank == 0 else None`: the class of the program, "" for anything else."""
    if isinstance(value, ast.IfExp):
        ways = [way for way in (value.body, value.orelse) if not isinstance(way, ast.Constant)]
        return _class_made(ways[0], classes) if len(ways) == 1 else ""
    name = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    return name if name in classes else ""


def called_on_self(stmt: ast.AST | None) -> Iterator[str]:
    """Names of the methods that a statement calls as `self.name()`."""
    for part in head(stmt) if stmt else ():
        for node in ast.walk(part):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                    yield name


def issues(stmt: ast.AST | None, imported: Mapping[str, frozenset[str]]) -> bool:
    """A plain call of a collective on the default group, `dist.all_reduce(loss)`, as a statement of its own."""
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    if not isinstance(call, ast.Call) or any(keyword.arg in ("group", None) for keyword in call.keywords):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    root = _root(call.func) or name
    # the group may be the third argument, of barrier the first
    plain = not call.args if name == "barrier" else len(call.args) < 3
    return plain and name in _COLLECTIVES and {"torch", "distributed"} <= imported.get(root, frozenset())


def functions(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All functions of a file with the class that they are methods of, "" where they are in none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield owner, node
        # functions within a method share its `self`
        yield from functions(node, node.name if isinstance(node, ast.ClassDef) else owner)


def names_called(expression: ast.expr) -> list[str]:
    """Last names of all that an expression calls: `model.train()` -> train."""
    targets = [node.func for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return [t.attr if isinstance(t, ast.Attribute) else getattr(t, "id", "") for t in targets]


def yields_all(stmt: ast.AST | None) -> bool:
    return any(isinstance(node, ast.YieldFrom) for part in (head(stmt) if stmt else ()) for node in ast.walk(part))


def yields(stmt: ast.AST | None) -> bool:
    parts = head(stmt) if stmt else ()
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for part in parts for node in ast.walk(part))
