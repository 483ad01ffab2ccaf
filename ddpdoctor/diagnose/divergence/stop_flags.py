"""What the job tells a library that decides by it: flags that it sets (`control.should_training_stop = True`), and what
its hooks return (`return -1`).

A framework's loop tests them, so the ranks part inside the framework; but who decides, and under which condition, is in
the job's own source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ddpdoctor.diagnose.conditions import conditions_around
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.dependence import DependsOn
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import last_name, walk

#: `response = hook(...)` and `skip = response == -1` are two assignments before `if skip:`
_MOST_ASSIGNMENTS = 2


@dataclass(frozen=True, slots=True)
class Flag:
    """An attribute that a condition tests for truth: `self.control.should_save` is (control, should_save)."""

    holder: str
    name: str


def flags(facts: Facts, condition: Site) -> tuple[Flag, ...]:
    """The flags that the `if` or `while` on a line tests."""
    tree = facts.program.tree(condition.file)
    heads = [n for n in walk(tree) if isinstance(n, (ast.If, ast.While)) and n.lineno == condition.line] if tree else []
    return tuple(dict.fromkeys(flag for head in heads for flag in _tested(head.test)))


def _tested(test: ast.expr) -> Iterator[Flag]:
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _tested(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _tested(operand)
        case ast.Attribute(value=holder, attr=name):
            yield Flag(last_name(holder), name)


def told_by_job(facts: Facts, point: BranchPoint, *, leaves: bool) -> tuple[BranchPoint, ...]:
    """The conditions of the job's own source under which it sets, or a hook returns, what a library's condition tests.

    `leaves`: the odd ranks did not take the way that the others took there.
    """
    wanted = flags(facts, point.site)
    places = dict.fromkeys((*(_stores(facts, wanted) if wanted else ()), *_answers(facts, point.site)))
    found = (_under(facts, place, point, leaves=leaves) for place in places)
    return tuple(one for one in found if one is not None)


def _answers(facts: Facts, condition: Site) -> Iterator[Site]:
    """The `return` statements of the job's methods whose result the condition tests, by way of local names."""
    tested = [node for value in _values(facts, condition) for node in walk(value)]
    named = {name for node in tested if isinstance(node, ast.Call) for name in _hooks(node)}
    compared = {ast.dump(other) for node in tested if isinstance(node, ast.Compare) for other in node.comparators}
    for method in _methods(facts, named):
        for given in _returned(method):
            if not compared or ast.dump(given) in compared:
                yield Site(method.module.path, given.lineno, method.name)


def _hooks(call: ast.Call) -> Iterator[str]:
    """The method that is called, and the texts among its arguments: a framework calls a hook by its name."""
    if isinstance(call.func, ast.Attribute):
        yield call.func.attr
    yield from filter(None, map(_text, call.args))


def _returned(method: FunctionInfo) -> list[ast.expr]:
    return [node.value for node in walk(method.node) if isinstance(node, ast.Return) and node.value is not None]


def _methods(facts: Facts, named: set[str]) -> Iterator[FunctionInfo]:
    """The methods of these names in the job's own classes."""
    for file in facts.program if named else ():
        module = facts.program.module(file)
        if module is not None and not facts.is_library(file):
            yield from (method for owner in module.classes for name, method in owner.methods.items() if name in named)


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _values(facts: Facts, condition: Site) -> list[ast.expr]:
    """The test of the condition on a line, and what its function assigns to the names in it."""
    function = enclosing.function_around(facts.program, condition)
    nodes = walk(function) if function is not None else []
    found = [n.test for n in nodes if isinstance(n, (ast.If, ast.While)) and n.lineno == condition.line]
    for _ in range(_MOST_ASSIGNMENTS):
        names = {node.id for value in found for node in walk(value) if isinstance(node, ast.Name)}
        given = [n.value for n in nodes if isinstance(n, ast.Assign) and any(last_name(t) in names for t in n.targets)]
        found += [value for value in given if value not in found]
    return found


def _stores(facts: Facts, wanted: Iterable[Flag]) -> Iterator[Site]:
    names = {flag.name for flag in wanted}
    for file in facts.program:
        module = facts.program.module(file)
        if module is None or facts.is_library(file) or not names & module.words:
            continue
        given = [(target, one.value) for one in module.of(ast.Assign) for target in one.targets]
        given += [(one.target, one.value) for one in module.of(ast.AugAssign)]
        for target, value in given:
            if _is_store(target, names) and not _clears(value):
                function = enclosing.innermost_function(module.tree, target.lineno)
                yield Site(file, target.lineno, function.name if function else "<module>")


def _is_store(target: ast.expr, names: set[str]) -> bool:
    """Whether it stores an attribute of this name in an object that is not the job's own `self`."""
    match target:
        case ast.Attribute(value=ast.Name(id="self")):
            return False
        case ast.Attribute(attr=name):
            return name in names
    return False


def _clears(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _under(facts: Facts, place: Site, point: BranchPoint, *, leaves: bool) -> BranchPoint | None:
    """The innermost condition around the line that can differ between ranks; None if all are equal on all ranks."""
    text = facts.statement(place)
    around = conditions_around(facts, place)
    own = [condition for condition in around if condition.dependence.on is not DependsOn.UNIFORM]
    if around and not own:
        return None
    known = next((one for one in own if one.dependence.on is not DependsOn.UNKNOWN), next(iter(own), None))
    site, side = (replace(place, line=known.line), known.side) if known else (place, True)
    return BranchPoint(
        BranchKind.CONDITION,
        EdgeKind.YES if side else EdgeKind.NO,
        site,
        facts.statement(site),
        point.jump or (place if leaves else None),
        point.jump_text or (text if leaves else ""),
        shown=place,
        sets=text,
        tested=point.site,
        tested_text=point.text,
    )
