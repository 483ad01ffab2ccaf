"""Properties of single statements: their lines, what they call, yield and return."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.model import c10d
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import dotted, last_name, walk

#: torch.distributed's collectives, by the names that programs call
_COLLECTIVES = frozenset(row.name for row in c10d.FUNCTIONS.values() if row.collective)
_PACKAGE = "torch.distributed"
#: expressions whose calls are made on a condition, several times, or later
_SOMETIMES = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: Method names so common that a call does not tell which function is meant.
_COMMON = frozenset({"step", "forward", "backward", "train", "eval", "zero_grad", "update", "get", "close"})


def takes_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def returned(stmt: ast.AST | None) -> bool | None:
    """Whether a `return` gives a true value; None if that is not known."""
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
    """The expressions that the statement itself evaluates, without those of nested statements."""
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
    """Functions that a statement calls, without methods with common names.

    (last name, first name) of each: `torch.save()` is ("save", "torch"), `save()` is ("save", "save").
    """
    for part in head(stmt) if stmt else ():
        for node in walk(part):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield node.func.id, node.func.id
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in _COMMON:
                if is_super(node.func.value):
                    continue  # the method of a base class, which is not the one of this name that is known
                yield node.func.attr, next(iter(dotted(node.func)), "")


def calls_in_order(stmt: ast.AST | None) -> list[ast.Call]:
    """The calls that a statement always makes, in the order in which they are made: arguments come first."""
    found: list[ast.Call] = []

    def add(node: ast.AST) -> None:
        if isinstance(node, _SOMETIMES):
            return
        for child in ast.iter_child_nodes(node):
            add(child)
        if isinstance(node, ast.Call):
            found.append(node)

    for part in head(stmt) if stmt else ():
        add(part)
    return found


def short_circuits(stmt: ast.AST | None) -> bool:
    """Whether the statement calls something only if what it evaluates before lets it: `here() or there()`."""
    parts = [part for one in (head(stmt) if stmt else ()) for node in walk(one) for part in _optional(node)]
    return any(isinstance(node, ast.Call) for part in parts for node in walk(part))


def _optional(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BoolOp(values=values):
            return values[1:]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
    return []


def without_calls(called: ast.expr) -> ast.expr:
    """What is called, without the calls that give the object whose method it is: `batch(n).to` is a method `to`."""
    if not isinstance(called, ast.Attribute):
        return called
    nested = any(isinstance(node, ast.Call) for node in walk(called.value)) and not is_super(called.value)
    return ast.Attribute(ast.Name("", ast.Load()) if nested else called.value, called.attr, ast.Load())


def is_super(holder: ast.expr) -> bool:
    """Whether it is `super()`."""
    return isinstance(holder, ast.Call) and isinstance(holder.func, ast.Name) and holder.func.id == "super"


def origins(module: Module) -> dict[str, frozenset[str]]:
    """Imported name -> the words of the path that it is imported from."""
    found = {name: frozenset(target.split(".")) for name, target in module.imports.items()}
    everything = frozenset(word for star in module.stars for word in star.split("."))
    return found | {name: everything | {name} for name in (_unbound(module) - found.keys() if everything else ())}


def _unbound(module: Module) -> set[str]:
    """Names that a file reads and never binds."""
    names = module.of(ast.Name)
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in module.of(ast.arg)}
    bound |= {node.name for node in module.of(ast.FunctionDef)} | {
        node.name for node in module.of(ast.AsyncFunctionDef)
    }
    bound |= {node.name for node in module.of(ast.ClassDef)}
    return {node.id for node in names} - bound


def called_on(stmt: ast.AST | None) -> Iterator[tuple[str, str]]:
    """(variable or attribute, method) of each `name.method()` and `owner.name.method()` that a statement calls.

    `name()` and `owner.name()` may call an object as well: its `__call__`.
    """
    for part in head(stmt) if stmt else ():
        for node in walk(part):
            if isinstance(node, ast.Call):
                yield last_name(node.func), "__call__"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                holder = node.func.value
                name = last_name(holder)
                if name and name != "self":
                    yield name, node.func.attr


def objects(modules: Iterable[Module]) -> dict[str, str]:
    """Variables and attributes -> the class of the program whose instances they hold, if it is the same everywhere."""
    held: dict[str, set[str]] = {}
    every = tuple(modules)
    classes = {node.name for module in every for node in module.of(ast.ClassDef)}
    for module in every:
        for assign in module.of(ast.Assign):
            for target in assign.targets:
                held.setdefault(last_name(target), set()).add(_class_made(assign.value, classes))
        for stored in _stored(module):
            held.setdefault(stored, set())
        for parameter in module.of(ast.arg):
            held.setdefault(parameter.arg, set()).add("")
    return {name: next(iter(made)) for name, made in held.items() if name and len(made) == 1 and made != {""}}


def _stored(module: Module) -> Iterator[str]:
    yield from (node.id for node in module.of(ast.Name) if isinstance(node.ctx, ast.Store))
    yield from (node.attr for node in module.of(ast.Attribute) if isinstance(node.ctx, ast.Store))


def _class_made(value: ast.expr, classes: set[str]) -> str:
    """The class for `Ema(net)` and `Ema(net) if rank == 0 else None`; "" for anything else."""
    if isinstance(value, ast.IfExp):
        ways = [way for way in (value.body, value.orelse) if not isinstance(way, ast.Constant)]
        return _class_made(ways[0], classes) if len(ways) == 1 else ""
    name = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    return name if name in classes else ""


def called_on_self(stmt: ast.AST | None) -> Iterator[str]:
    """Names of the methods that a statement calls as `self.name()`."""
    for part in head(stmt) if stmt else ():
        for node in walk(part):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                    yield name


def issues(stmt: ast.AST | None, module: Module) -> bool:
    """Whether it is only a call of a collective on the default group: `dist.all_reduce(loss)`."""
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    if not isinstance(call, ast.Call) or any(keyword.arg in ("group", None) for keyword in call.keywords):
        return False
    name = last_name(call.func)
    # the group may be the third argument, or the first of barrier
    plain = not call.args if name == "barrier" else len(call.args) < 3
    if not plain or name not in _COLLECTIVES:
        return False
    starred = isinstance(call.func, ast.Name) and name not in module.bindings and _PACKAGE in module.stars
    return starred or module.imported(call.func).startswith(f"{_PACKAGE}.")


def functions(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All functions of a file with the class that they are methods of, "" if none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield owner, node
        # functions inside a method share its `self`
        yield from functions(node, node.name if isinstance(node, ast.ClassDef) else owner)


def names_called(expression: ast.expr) -> list[str]:
    """Last names of all calls in an expression: `model.train()` -> train."""
    return [last_name(node.func) for node in walk(expression) if isinstance(node, ast.Call)]


def yields_all(stmt: ast.AST | None) -> bool:
    return any(isinstance(node, ast.YieldFrom) for part in (head(stmt) if stmt else ()) for node in walk(part))


def yields(stmt: ast.AST | None) -> bool:
    parts = head(stmt) if stmt else ()
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for part in parts for node in walk(part))
