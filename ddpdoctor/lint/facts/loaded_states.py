"""What becomes of a loaded file: the state of a network or an optimizer lies on a device, other data seldom."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import Enum

from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.values.abstract_objects import Made, Table
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of


class Content(Enum):
    """What a loaded file holds, judged by its use."""

    #: weights, which may have been saved from a device
    WEIGHTS = "weights"
    #: the state of an optimizer, perhaps beside others: a run goes on from what it has saved, on its device
    OPTIMIZER = "optimizer"
    #: numbers of a schedule
    PLAIN = "plain"
    UNKNOWN = "unknown"


def content_of(call: CallEvent) -> Content:
    """What the loaded object is used for in the function that loads it."""
    module = call.context.module
    scope: ast.AST = innermost_function(module.tree, call.site.line) or module.tree
    names = _names_for(scope, call.node)
    takers = [name for name, taker in _loading(scope) if _takes(taker, call.node, names)]
    if not takers:
        return Content.UNKNOWN
    if heuristics.RESUMED.found_in_any(takers):
        return Content.OPTIMIZER
    return Content.PLAIN if all(map(heuristics.KEEPS_NUMBERS.found_in, takers)) else Content.WEIGHTS


def is_saved_by(saves: Iterable[CallEvent], call: CallEvent) -> bool:
    """Whether one of the calls saves what another loads: to the same path, or under two keys that are read of it, with
    the state of a network that was not moved to the CPU for that."""
    path = call.argument(0, "f")
    keys = _keys_read(call) if path is not None else set[str]()
    for save in saves:
        state, to = save.argument(0, "obj"), save.argument(1, "f")
        if path is None or state is None or to is None:
            continue
        of_devices = _keys_of_devices(state)
        entries = {key for key, _ in state.object.entries} if isinstance(state.object, Table) else set[str]()
        alike = keys & entries
        if of_devices and (to.atoms == path.atoms or (len(alike) > 1 and alike & of_devices)):
            return True
    return False


def _keys_of_devices(saved: Value) -> set[str]:
    """The keys under which states are saved that lie where their networks do; "" for all that is saved."""
    entries = saved.object.entries if isinstance(saved.object, Table) else (("", saved),)
    made = ((key, value.object) for key, value in entries)
    return {
        key
        for key, state in made
        if isinstance(state, Made)
        and state.path == "?.state_dict"
        and (state.node is None or "cpu" not in text_of(state.node))
    }


def _keys_read(call: CallEvent) -> set[str]:
    """The constant keys of which the function that loads reads the entries."""
    module = call.context.module
    scope: ast.AST = innermost_function(module.tree, call.site.line) or module.tree
    names = _names_for(scope, call.node)
    reads = (node for node in walk(scope) if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant))
    return {str(node.slice.value) for node in reads if isinstance(node.slice, ast.Constant)
            and isinstance(node.value, ast.Name) and node.value.id in names}  # fmt: skip


def _loading(scope: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Calls of the method `load_state_dict` and the like, each with the name of its object."""
    for node in walk(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and "load_state" in node.func.attr:
            # `optimizers["first"].load_state_dict(...)`
            owner = node.func.value.value if isinstance(node.func.value, ast.Subscript) else node.func.value
            yield last_name(owner), node


def _takes(taker: ast.Call, loaded: ast.Call, names: set[str]) -> bool:
    given = [*taker.args, *(k.value for k in taker.keywords)]
    return any(
        node is loaded or (isinstance(node, ast.Name) and node.id in names) for value in given for node in walk(value)
    )


def _names_for(scope: ast.AST, loaded: ast.Call) -> set[str]:
    """Variables that hold the loaded object, or something taken out of it."""
    names: set[str] = set()
    steps = [pair for node in walk(scope) for pair in _steps(node)]
    known = -1
    while known < len(names):
        known = len(names)
        for targets, value in steps:
            if any(n is loaded or (isinstance(n, ast.Name) and n.id in names) for n in walk(value)):
                names.update(targets)
    return names


def _steps(node: ast.AST) -> Iterator[tuple[set[str], ast.expr]]:
    """(variables that are set, from what) of a statement."""
    if isinstance(node, ast.Assign):
        yield {name for target in node.targets for name in _bases(target)}, node.value
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield set(_bases(node.target)), node.value
    elif isinstance(node, ast.For):
        yield set(_bases(node.target)), node.iter
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
        for value in node.args:
            yield set(_bases(node.func.value)), value


def _bases(target: ast.expr) -> Iterator[str]:
    """`a`, `a[key]`, `(a, b)`; attributes are not followed."""
    for node in walk(target):
        if isinstance(node, ast.Name) and not isinstance(target, ast.Attribute):
            yield node.id
