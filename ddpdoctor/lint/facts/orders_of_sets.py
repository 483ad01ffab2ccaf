"""What is done in the order of a set, which is another one in each process where it is of texts: names are numbered,
and collectives called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Context, EnclosingLoop
from ddpdoctor.lint.knowledge import collectives, frameworks
from ddpdoctor.lint.values import set_orders
from ddpdoctor.lint.values.abstract_objects import Function
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name, parents, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

#: functions that count along a list
_COUNTING = ("builtins.enumerate", "builtins.zip")
_SETTING = "PYTHONHASHSEED"


class Numbering(NamedTuple):
    """Where a program numbers what a set has."""

    site: SourceSite
    context: Context


def numbered(facts: ModuleFacts) -> Iterator[Numbering]:
    """Where a program numbers what a set has: `{name: number for number, name in enumerate(set(names))}`, also by a
    list that an object keeps of it, and `ids[name] = len(ids)`; not in a process that starts the ranks afterwards, and
    not on one rank."""
    for site, context, over, value in (*_counted_along(facts), *_counted_up(facts)):
        module = blocks.module_of(facts, site)
        if module is None or _SETTING in module.text or context.some_ranks_only or _is_of_parent(facts, context):
            continue
        if is_set(module, over) or (value is not None and set_orders.is_in_one(value)):
            yield Numbering(site, context)


#: where it is numbered, what is gone through, and what that is
_Counted = tuple[SourceSite, Context, ast.expr, Value | None]


def _counted_along(facts: ModuleFacts) -> Iterator[_Counted]:
    """`enumerate(names)`, where the numbers get into a dict."""
    for call in facts.named(*_COUNTING):
        module = blocks.module_of(facts, call.site)
        over = _counted(call.node) if module is not None and _is_map(module, call.node) else None
        if over is not None:
            given = zip(call.node.args, call.args, strict=False)
            yield call.site, call.context, over, next((value for node, value in given if node is over), None)


def _counted_up(facts: ModuleFacts) -> Iterator[_Counted]:
    """`for name in names: ids[name] = len(ids)`"""
    for iteration in facts.iterations:
        node = iteration.loop.node
        module = blocks.module_of(facts, iteration.loop.site) if isinstance(node, ast.For) else None
        if module is not None and isinstance(node, ast.For) and _numbers_by_length(module, node):
            yield iteration.loop.site, iteration.context, node.iter, iteration.loop.over


@once
def _numbers_by_length(_module: Module, loop: ast.For) -> bool:
    """Whether a loop gives each of what it goes through the next number in a dict."""
    names = set(_names_in(loop.target))
    filled = (n for step in loop.body for n in walk(step) if isinstance(n, ast.Assign) and len(n.targets) == 1)
    return any(
        isinstance(target := n.targets[0], ast.Subscript)
        and isinstance(n.value, ast.Call)
        and text_of(n.value) == f"len({text_of(target.value)})"
        and not names.isdisjoint(_names_in(target.slice))
        for n in filled
    )


def collectives_in_one(facts: ModuleFacts) -> Iterator[tuple[CallEvent, EnclosingLoop]]:
    """Collectives of what a loop takes out of a set of texts, or out of what is in its order; and that loop."""
    if salted_alike(facts):
        return
    found: set[SourceSite] = set()
    for call in facts.named(*(path for path, spec in collectives.COLLECTIVES.items() if spec.op not in _WITHOUT_DATA)):
        if call.context.some_ranks_only or call.site in found:
            continue
        for loop in call.context.loops:
            if loop.over is not None and set_orders.is_in_one(loop.over) and _is_of_element(facts, call, loop):
                found.add(call.site)
                yield call, loop


def salted_alike(facts: ModuleFacts) -> bool:
    """Whether all ranks have one salt: a process that was forked has that of its parent, and a program may set it."""
    return bool(facts.named(*frameworks.PROCESSES)) or any(_SETTING in text for text in facts.texts)


#: collectives in which all turns of a loop are alike
_WITHOUT_DATA = frozenset({"barrier", "monitored_barrier", "init_process_group", "destroy_process_group"})


def _is_of_element(facts: ModuleFacts, call: CallEvent, loop: EnclosingLoop) -> bool:
    """Whether what it is given depends on the element of this turn."""
    module = blocks.module_of(facts, loop.site)
    if module is None:
        return False
    names = _made_of_element(loop.node)
    sites = {call.site, *call.context.chain}
    calls = (n for n in walk(loop.node) if isinstance(n, ast.Call) and site_of(module, n) in sites)
    return any(not names.isdisjoint(_names_in(one)) for one in calls)


def _made_of_element(loop: ast.AST) -> set[str]:
    """The variables of a loop, and those that its body makes of them."""
    if isinstance(loop, ast.For):
        targets: list[ast.expr] = [loop.target]
    else:
        targets = [generator.target for generator in getattr(loop, "generators", [])]
    names = {name for target in targets for name in _names_in(target)}
    for _ in range(_STEPS):
        for node in walk(loop):
            if isinstance(node, ast.Assign) and not names.isdisjoint(_names_in(node.value)):
                names |= {name for target in node.targets for name in _names_in(target)}
    return names


def _names_in(node: ast.AST) -> Iterator[str]:
    return (n.id for n in walk(node) if isinstance(n, ast.Name))


#: variables that are made of one another at most
_STEPS = 3


def _counted(call: ast.Call) -> ast.expr | None:
    """What a call counts along: `enumerate(names)`, `zip(names, range(len(names)))`."""
    if last_name(call.func) == "enumerate":
        return call.args[0] if call.args else None
    if len(call.args) != 2:
        return None
    counts = [isinstance(part, ast.Call) and last_name(part.func) in ("range", "count") for part in call.args]
    return call.args[0] if counts == [False, True] else call.args[1] if counts == [True, False] else None


def _is_of_parent(facts: ModuleFacts, context: Context) -> bool:
    """Whether it runs in the process that starts the ranks, which it hands its numbers."""
    spawns = facts.named(*frameworks.SPAWNING, *frameworks.PROCESSES)
    started = {a.object.info.qualname for c in spawns for a in c.args[:1] if isinstance(a.object, Function)}
    return bool(started) and not started & set(context.calls)


def is_set(module: Module, node: ast.expr, inside: frozenset[str] = frozenset()) -> bool:
    """Whether it is a set, or a list of one, in the order that it happens to have; `inside`: the variables that are
    made of it."""
    match node:
        case ast.Name(id=name):
            return name not in inside and _holds_set(module, node, inside | {name})
        case ast.Attribute():
            return _keeps_set(module, node, inside)
        case ast.Call(func=ast.Name(id="set" | "frozenset"), args=[inner]):
            return not _is_of_numbers(inner)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
            return is_set(module, inner, inside)
        case ast.SetComp(elt=each):
            return not _is_number(each)
    return any(is_set(module, part, inside) for part in _parts_in_order(node))


def _parts_in_order(node: ast.expr) -> list[ast.expr]:
    """What a list has in the order in which it goes through it: `[PAD, *words]`, `[PAD] + list(words)`,
    `[word for word in words if word]`, `words | {PAD}`."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [element.value for element in elements if isinstance(element, ast.Starred)]
        case ast.BinOp(left=left, op=ast.Add() | ast.BitOr() | ast.BitAnd(), right=right):
            return [left, right]
        case ast.BinOp(left=left, op=ast.Sub()):
            return [left]
        case ast.ListComp(elt=each, generators=[one]) | ast.GeneratorExp(elt=each, generators=[one]) if not (
            _is_number(each)
        ):
            return [one.iter]
    return []


def _is_of_numbers(node: ast.expr) -> bool:
    """Whether a set is made of numbers as far as can be seen: their order is the same in all processes."""
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        return _is_number(node.elt)
    tensors = isinstance(node, ast.Call) and last_name(node.func) in ("range", "tolist", "randperm", "arange", "numpy")
    return tensors or (isinstance(node, ast.Call) and last_name(node.func) == "map" and _is_number(node))


def _is_number(node: ast.expr) -> bool:
    """Whether it is `int(...)`, `len(...)`, or `map(int, ...)`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "map":
        return bool(node.args) and last_name(node.args[0]) in _NUMBERS
    return isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and last_name(node.func) in _NUMBERS)


_NUMBERS = frozenset({"int", "len", "float", "round", "ord", "hash", "id", "item"})


def _holds_set(module: Module, node: ast.Name, inside: frozenset[str]) -> bool:
    """Whether a variable is assigned a set once, and not sorted."""
    scope = innermost_function(module.tree, node.lineno) or module.tree
    made = [n for n in walk(scope) if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)]
    assigned = [n.value for n in walk(scope) if isinstance(n, ast.Assign) and n.targets == made]
    # `names = list(names)` of a parameter
    return len(assigned) == 1 and not _sorts(module, scope, node) and is_set(module, assigned[0], inside)


def _keeps_set(module: Module, node: ast.Attribute, inside: frozenset[str]) -> bool:
    """Whether an object keeps a set, or a list of one, under a name that it stores once and does not sort."""
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    stored = module.attribute_stores.get((owner, node.attr), [])
    key = f"{owner}.{node.attr}"
    if owner != "self" or len(stored) != 1 or key in inside:
        return False
    return not _sorts(module, module.tree, node) and is_set(module, stored[0], inside | {key})


def _sorts(module: Module, scope: ast.AST, name: ast.expr) -> bool:
    """Whether it is sorted in place."""
    return last_name(name) in _sorted(module, scope)


@once
def _sorted(_module: Module, scope: ast.AST) -> frozenset[str]:
    """What is sorted in place in a function or file, by name."""
    methods = (n.func for n in walk(scope) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return frozenset(last_name(method.value) for method in methods if method.attr == "sort")


def _is_map(module: Module, call: ast.Call) -> bool:
    """Whether the numbers become keys or values: of a dict that is made of them, or filled in a loop over them."""
    around = _parents(module).get(call)
    if isinstance(around, ast.comprehension):
        return isinstance(_parents(module).get(around), ast.DictComp)
    if isinstance(around, ast.Call):
        return last_name(around.func) == "dict"
    if not isinstance(around, ast.For):
        return False
    counted = around.target.elts if isinstance(around.target, ast.Tuple) else [around.target]
    # of `enumerate`, the number comes first
    numbers = {last_name(part) for part in (counted[:1] if last_name(call.func) == "enumerate" else counted)}
    filled = (n for n in around.body if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript))
    return any(isinstance(part, ast.Name) and part.id in numbers for n in filled for part in walk(n))


@once
def _parents(module: Module) -> dict[ast.AST, ast.AST]:
    return parents(module.nodes)
