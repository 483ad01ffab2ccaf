"""What a module of Lightning collects for each batch, and writes after the last one: each rank has its own batches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import framework_objects
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of

#: what Lightning calls after the last batch -> what it calls for each
_AFTER_STEPS = {
    f"on_{phase}_{end}": f"{step}_step"
    for phase, step in (("test", "test"), ("predict", "predict"), ("validation", "validation"))
    for end in ("end", "epoch_end")
}
#: what older Lightning calls with all that the steps have returned on this rank
_GIVEN_OUTPUTS = frozenset({"test_epoch_end", "validation_epoch_end"})
#: methods that put something more into a container
_ADDING = frozenset({"append", "extend", "update", "add"})


def collected(facts: ModuleFacts, call: CallEvent, contents: Iterable[ast.expr]) -> SourceSite | None:
    """The method that collects for each batch, in its object, what a call in another method of it writes, where nothing
    in the class may have gathered it."""
    function = call.context.function
    info = function.owner if function is not None else None
    if function is None or info is None or function.name not in (*_AFTER_STEPS, *_GIVEN_OUTPUTS):
        return None
    if frameworks.MODULE not in framework_objects.bases(facts.analysis, info):
        return None
    called = (last_name(node.func) for node in walk(info.node) if isinstance(node, ast.Call))
    if heuristics.PUTS_TOGETHER.found_in_any(called):
        return None
    attributes, names = _made_of(function.node, contents)
    if function.name in _GIVEN_OUTPUTS:
        own = len(function.parameters) > 1 and function.parameters[1].arg in names
        return site_of(function.module, function.node) if own else None
    step = info.methods.get(_AFTER_STEPS[function.name])
    kept = {name for node in walk(step.node) for name in _filled(node)} if step is not None else set[str]()
    return site_of(step.module, step.node) if step is not None and kept & attributes else None


def _filled(node: ast.AST) -> Iterator[str]:
    """The attribute of the object to which a statement adds something: `self.rows[name] = row`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
        yield from _attributes(node.func.value)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    for target in targets:
        if isinstance(target, ast.Subscript) or isinstance(node, ast.AugAssign):
            yield from _attributes(target.value if isinstance(target, ast.Subscript) else target)


def _made_of(function: ast.AST, contents: Iterable[ast.expr]) -> tuple[set[str], set[str]]:
    """The attributes of the object, and the variables of a function, of which something is made."""
    waiting: list[ast.AST] = list(contents)
    found: set[str] = set()
    seen: set[str] = set()
    while waiting:
        for node in walk(waiting.pop()):
            found.update(_attributes(node))
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                waiting.extend(_given_to(function, node.id))
    return found, seen


def _given_to(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a variable is assigned, goes through, or is filled with."""
    for node in walk(function):
        if isinstance(node, ast.Assign) and any(name == last_name(target) for target in node.targets):
            yield node.value
        elif isinstance(node, (ast.For, ast.comprehension)) and name in {last_name(n) for n in walk(node.target)}:
            yield node.iter
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
            yield from node.args if last_name(node.func.value) == name else ()


def _attributes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and last_name(node.value) == "self":
        yield node.attr
