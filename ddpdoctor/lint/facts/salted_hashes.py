"""What becomes of `hash(text)`, which is another number in each process: Python salts it when it starts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from ddpdoctor.lint.facts import blocks, shares_by_rank
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values.abstract_objects import Items, Made, Method
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Symbol, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name, parents, walk
from ddpdoctor.program.sites import SourceSite, site_of

#: what gives all processes one salt
SETTING = "PYTHONHASHSEED"


class Use(Enum):
    """What a number made of a hash decides."""

    #: which rank has something: `hash(name) % world == rank`
    OWNER = "owner"
    #: which samples there are: `if hash(name) % 10 == 0: held_out.append(name)`
    SAMPLE = "sample"
    #: what a network is given: `torch.tensor([hash(word) % buckets for word in words])`
    ID = "id"


class Used(NamedTuple):
    """A use of a hash, and where it is."""

    use: Use
    site: SourceSite


class _Place(NamedTuple):
    """An expression that holds the number, and the calls that lead to its function, outermost first."""

    module: Module
    node: ast.AST
    chain: tuple[SourceSite, ...]
    #: the number is one of a few: `hash(name) % 10`
    bounded: bool


def uses(facts: ModuleFacts, call: CallEvent, by_rank: frozenset[str] = frozenset()) -> Iterator[Used]:
    """What a program uses a hash for; `by_rank`: the attributes in which its objects keep numbers of the rank."""
    module = blocks.module_of(facts, call.site)
    node = _node_at(module, call.site) if module is not None else None
    left = [_Place(module, node, call.context.chain, bounded=False)] if module is not None and node is not None else []
    seen: set[ast.AST] = set()
    while left:
        place = _whole(left.pop())
        if place.node in seen:
            continue
        seen.add(place.node)
        use = _use_of(place, by_rank)
        if use is not None:
            yield Used(use, site_of(place.module, place.node))
        left += _handed_on(facts, place)


def _node_at(module: Module, site: SourceSite) -> ast.Call | None:
    return next((node for node in module.of(ast.Call) if site_of(module, node) == site), None)


#: functions of a number that give as much of a hash
_OF_NUMBERS = frozenset({"abs", "int", "str", "float"})
_BOUNDING = (ast.Mod, ast.BitAnd, ast.RShift)
#: what puts elements together
_HOLDING = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp, ast.Starred, ast.IfExp, ast.keyword)


def _whole(place: _Place) -> _Place:
    """The arithmetic, and the list, that an expression is a part of."""
    around = _parents(place.module)
    node, bounded = place.node, place.bounded
    while True:
        up = around.get(node)
        if isinstance(up, ast.BinOp):
            bounded = bounded or (isinstance(up.op, _BOUNDING) and node is up.left)
        elif not (isinstance(up, ast.Call) and last_name(up.func) in _OF_NUMBERS and node in up.args) and not (
            isinstance(up, (*_HOLDING, ast.UnaryOp)) and _is_element(up, node)
        ):
            return place._replace(node=node, bounded=bounded)
        node = up


def _is_element(holder: ast.AST, node: ast.AST) -> bool:
    """Whether it is what is held, and no condition on that."""
    if isinstance(holder, (ast.ListComp, ast.GeneratorExp)):
        return holder.elt is node
    return not (isinstance(holder, ast.IfExp) and holder.test is node)


#: what makes tensors of numbers
_TENSORS = frozenset({"tensor", "as_tensor", "LongTensor", "IntTensor"})
_FILLING = frozenset({"append", "extend", "add"})


def _use_of(place: _Place, by_rank: frozenset[str]) -> Use | None:
    up = _parents(place.module).get(place.node)
    if isinstance(up, ast.Compare):
        sides = [side for side in (up.left, *up.comparators) if side is not place.node]
        scope = innermost_function(place.module.tree, up.lineno) or place.module.tree
        if any(shares_by_rank.is_by_rank(scope, side) or _is_kept(side, by_rank) for side in sides):
            return Use.OWNER
        return Use.SAMPLE if place.bounded and _chooses(place.module, up) else None
    if isinstance(up, ast.Subscript) and up.slice is place.node and place.bounded:
        return Use.OWNER if _taken_by_rank(place.module, up) else None
    if isinstance(up, ast.Call) and place.bounded and last_name(up.func) in _TENSORS and place.node in up.args:
        return Use.ID if (place.module.imported(up.func) or "").startswith("torch.") else None
    return None


def _is_kept(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an object keeps it under one of these names."""
    return isinstance(node, ast.Attribute) and node.attr in names


def _chooses(module: Module, test: ast.AST) -> bool:
    """Whether a condition decides what gets into a list, or is yielded."""
    around = _parents(module)
    node, up = test, around.get(test)
    while isinstance(up, (ast.BoolOp, ast.UnaryOp)):
        node, up = up, around.get(up)
    if isinstance(up, ast.comprehension):
        return node in up.ifs
    if not isinstance(up, ast.If) or up.test is not node:
        return False
    inside = [n for statement in (*up.body, *up.orelse) for n in walk(statement)]
    return any(
        isinstance(n, (ast.Continue, ast.Yield))
        or (isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in _FILLING)
        for n in inside
    )


def _taken_by_rank(module: Module, part: ast.Subscript) -> bool:
    """Whether the function takes the rank's part of what is filled by such numbers: `parts[rank]`."""
    scope = innermost_function(module.tree, part.lineno) or module.tree
    name = last_name(part.value)
    return any(
        isinstance(n, ast.Subscript) and n is not part and last_name(n.value) == name
        and not isinstance(n.slice, ast.Slice) and shares_by_rank.is_by_rank(scope, n.slice)
        for n in walk(scope)
    )  # fmt: skip


def _handed_on(facts: ModuleFacts, place: _Place) -> Iterator[_Place]:
    """Where the number goes from an expression: to a variable, into a list, to the caller."""
    around = _parents(place.module)
    up = around.get(place.node)
    if isinstance(up, ast.Return) and place.chain:
        module = blocks.module_of(facts, place.chain[-1])
        called = _node_at(module, place.chain[-1]) if module is not None else None
        if module is not None and called is not None:
            yield place._replace(module=module, node=called, chain=place.chain[:-1])
    name = _kept_in(up, place.node)
    if name:
        scope = innermost_function(place.module.tree, getattr(place.node, "lineno", 0)) or place.module.tree
        for node in walk(scope):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                yield place._replace(node=node)


def _kept_in(up: ast.AST | None, node: ast.AST) -> str:
    """The variable that holds a number, or the list that it is put into."""
    if isinstance(up, ast.Assign) and len(up.targets) == 1 and isinstance(up.targets[0], ast.Name):
        return up.targets[0].id
    put = isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and up.func.attr in _FILLING
    if isinstance(up, ast.Call) and put and node in up.args and isinstance(up.func, ast.Attribute):
        return up.func.value.id if isinstance(up.func.value, ast.Name) else ""
    return ""


#: methods and functions whose results are texts
_GIVE_TEXTS = frozenset({
    "lower", "upper", "strip", "lstrip", "rstrip", "replace", "encode", "decode", "format", "join", "basename",
    "dirname", "abspath", "hexdigest", "dumps", "str", "repr", "readline", "removeprefix", "removesuffix", "as_posix",
})  # fmt: skip
#: those whose results are numbers
_GIVE_NUMBERS = frozenset({"int", "len", "round", "ord", "hash", "id", "float", "item", "get_rank", "getuid", "getpid"})
#: tags of numbers
_NUMBERS = ANY_RANK | Tag.INDEX | Tag.LENGTH | Tag.WORLD | Tag.TIME


def is_text(module: Module, call: CallEvent) -> bool | None:
    """Whether a text is hashed, or several things and a text among them; None if that is not known."""
    return _is_text(module, call.node.args[0], call.args[0]) if call.node.args and call.args else False


def _is_text(module: Module, node: ast.expr, value: Value) -> bool | None:
    if isinstance(node, ast.Tuple):
        items = value.object.items if isinstance(value.object, Items) else ()
        known = [_is_text(module, n, v) for n, v in zip(node.elts, items, strict=False)]
        return True if True in known else None if None in known else False
    if value.known:
        return all(isinstance(atom, (str, bytes)) for atom in value.atoms)
    written = _as_written(module, node)
    if written is not None:
        return written
    if value.tags & Tag.FILLED:
        return True
    obj = value.object
    name = obj.name if isinstance(obj, Method) else obj.path.rpartition(".")[2] if isinstance(obj, Made) else ""
    if name in _GIVE_TEXTS:
        return True
    numbers = value.tags & _NUMBERS or name in _GIVE_NUMBERS or any(not isinstance(a, Symbol) for a in value.atoms)
    return False if numbers else None


def _as_written(module: Module, node: ast.expr) -> bool | None:
    """The same as far as the expression itself, or the annotation of a parameter, tells."""
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        return True if name in _GIVE_TEXTS else False if name in _GIVE_NUMBERS else None
    if isinstance(node, ast.BinOp):
        parts = [_as_written(module, node.left), _as_written(module, node.right)]
        return True in parts
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    if isinstance(node, ast.Name):
        scope = innermost_function(module.tree, node.lineno)
        if _counts(scope or module.tree, node.id):
            return False
        given = scope.args if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
        known = {a.arg: last_name(a.annotation) for a in given.args if a.annotation is not None} if given else {}
        return _ANNOTATED.get(known.get(node.id, ""))
    return True if isinstance(node, ast.JoinedStr) else None


def _counts(scope: ast.AST, name: str) -> bool:
    """Whether a variable counts the turns of a loop: `for name in range(n)`, `for name, row in enumerate(rows)`."""
    for node in walk(scope):
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Call):
            called, target = last_name(node.iter.func), node.target
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            if called in ("range", "enumerate") and last_name(first) == name:
                return True
    return False


_ANNOTATED = {"str": True, "bytes": True, "Path": True, "int": False, "float": False, "Tensor": False}


@once
def _parents(module: Module) -> dict[ast.AST, ast.AST]:
    return parents(module.nodes)
