"""What becomes of the handle of an asynchronous operation: whether anything that can wait takes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import field, record
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
#: methods of a list that add to it, or empty it
_ADDING = frozenset({"append", "extend", "add", "appendleft", "insert"})
_EMPTYING = frozenset({"clear"})

Parents = Mapping[ast.AST, ast.AST]


class Emptied(NamedTuple):
    """A loop over what was kept with handles, in which nothing takes the handles themselves."""

    loop: ast.For
    #: variable of the loop -> what was kept in its place, as written
    kept: dict[str, str]


@record(slots=True)
class Handle:
    """Where a handle is kept, as far as the function and its class show."""

    #: the call that gives it
    node: ast.AST
    #: it leaves the function, or is part of something that is not followed
    escapes: bool = False
    returned: bool = False
    #: in an attribute, which other functions may read
    shared: bool = False
    #: variables and attributes that hold it, or a list of it
    keepers: set[str] = field(default_factory=set)
    #: expressions that may wait for it
    touches: set[ast.AST] = field(default_factory=set)
    emptied: list[Emptied] = field(default_factory=list)

    @property
    def lost(self) -> bool:
        """Whether surely nothing takes it."""
        return not (self.escapes or self.returned or self.touches)


class Scopes(NamedTuple):
    """Where names are looked for: the function itself, and its class or file, which may read an attribute."""

    function: ast.AST
    #: of all that is in the class or file
    parents: Parents
    owner: ast.AST

    def of(self, keeper: str) -> list[ast.AST]:
        """All that may read a variable or attribute."""
        return walk(self.owner if "." in keeper else self.function)


def handle_of(scopes: Scopes, node: ast.expr) -> Handle:
    """Where the result of a call goes."""
    found = Handle(node)
    _keep(scopes, found, node)
    waiting = sorted(found.keepers)
    for keeper in waiting:
        before = set(found.keepers)
        _look(scopes, found, keeper)
        waiting += sorted(found.keepers - before)
    return found


def _keep(scopes: Scopes, found: Handle, node: ast.AST) -> None:
    """Follow an expression that holds the handle to what it is stored in."""
    parents = scopes.parents
    parent = parents.get(node)
    while parent is not None and (isinstance(parent, (*_DISPLAYS, ast.Starred)) or _chooses(parent, node)):
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.Expr):
        return
    if isinstance(parent, ast.Return):
        found.returned = True
        return
    keeper = _keeper(parent, node)
    if keeper is None:
        found.escapes = True
        return
    found.keepers.add(text_of(keeper))
    found.shared |= isinstance(keeper, ast.Attribute)


def _chooses(parent: ast.AST, node: ast.AST) -> bool:
    return isinstance(parent, ast.IfExp) and parent.test is not node


def _keeper(parent: ast.AST | None, node: ast.AST) -> ast.expr | None:
    """The variable, attribute or list that an expression is stored in."""
    kept: ast.expr | None = None
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        kept = parent.targets[0]
    elif isinstance(parent, (ast.AugAssign, ast.AnnAssign)) and parent.value is node:
        kept = parent.target
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr in _ADDING:
        kept = parent.func.value if node in parent.args else None
    if isinstance(kept, ast.Attribute):
        return kept if isinstance(kept.value, ast.Name) else None
    return kept if isinstance(kept, ast.Name) else None


def _look(scopes: Scopes, found: Handle, keeper: str) -> None:
    """Every place that reads a variable or attribute."""
    attribute = keeper.rpartition(".")[2] if "." in keeper else ""
    for node in scopes.of(keeper):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and keeper in node.names:
            found.escapes = True
        if attribute:
            named = isinstance(node, ast.Attribute) and node.attr == attribute
        else:
            named = isinstance(node, ast.Name) and node.id == keeper
        if named and isinstance(getattr(node, "ctx", None), ast.Load):
            _read(scopes, found, node)


def _read(scopes: Scopes, found: Handle, node: ast.AST) -> None:
    """Judge one place that reads a keeper."""
    parents = scopes.parents
    parent = parents.get(node)
    if parent is None:
        found.touches.add(node)
    elif _only_asks(parents, parent, node):
        return
    elif isinstance(parent, ast.For) and parent.iter is node:
        _gone_through(scopes, found, parent)
    elif _is_handed_on(parents, node):
        _keep(scopes, found, node)
    else:
        found.touches.add(node)


def _only_asks(parents: Parents, parent: ast.AST, node: ast.AST) -> bool:
    """Whether it adds to the list, empties it, or asks whether there is anything in it."""
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ADDING | _EMPTYING and isinstance(parents.get(parent), ast.Call)
    if isinstance(parent, ast.Call):
        return last_name(parent.func) in ("len", "bool") and node in parent.args
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return parent.test is node
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    return isinstance(parent, (ast.Compare, ast.BoolOp, ast.Delete))


def _is_handed_on(parents: Parents, node: ast.AST) -> bool:
    """Whether it is put into something, returned, or given another name."""
    parent = parents.get(node)
    while parent is not None and (isinstance(parent, (ast.Tuple, ast.List, ast.Starred)) or _chooses(parent, node)):
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.Return):
        return True
    return parent is not None and _keeper(parent, node) is not None


def _gone_through(scopes: Scopes, found: Handle, loop: ast.For) -> None:
    """A loop over a list of handles, alone or together with what else was kept for each."""
    read = _read_in(loop)
    names = [last_name(part) for part in _parts(loop.target)]
    kept = next(_tuples(scopes, text_of(loop.iter), len(names)), None) if len(names) > 1 else None
    taken = {names[0]} if len(names) == 1 else _named_handles(found, names, kept)
    if not taken or "" in names or taken & read:
        found.touches.add(loop)
    elif kept is not None:
        others = {name: text_of(part) for name, part in zip(names, kept.elts, strict=True) if name in read}
        found.emptied.append(Emptied(loop, others))


def _read_in(loop: ast.For) -> set[str]:
    """The names that the body of a loop reads."""
    nodes = (node for statement in loop.body for node in walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _named_handles(found: Handle, names: list[str], kept: ast.Tuple | None) -> set[str]:
    """The variables of a loop that get handles, of tuples that were kept."""
    parts = kept.elts if kept is not None else []
    return {name for name, part in zip(names, parts, strict=False) if _is_handle(part, found)}


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]


def _is_handle(part: ast.expr, found: Handle) -> bool:
    return part is found.node or text_of(part) in found.keepers


def _tuples(scopes: Scopes, keeper: str, size: int) -> Iterator[ast.Tuple]:
    """Tuples of a size that are added to a list."""
    for node in scopes.of(keeper):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
            given = node.args[-1] if node.args else None
            if text_of(node.func.value) == keeper and isinstance(given, ast.Tuple) and len(given.elts) == size:
                yield given
