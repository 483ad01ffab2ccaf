"""Flags of a library that the job sets: `control.should_training_stop = True`, `trainer.should_stop = True`.

A framework's loop tests the flag, so the ranks part inside the framework; but who sets it, and under which condition,
is in the job's own source.
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
from ddpdoctor.program.nodes import last_name, walk


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


def set_by_job(facts: Facts, point: BranchPoint) -> tuple[BranchPoint, ...]:
    """The conditions of the job's own source under which it sets what a library's condition tests."""
    wanted = flags(facts, point.site)
    places = dict.fromkeys(_stores(facts, wanted)) if wanted else {}
    return tuple(found for place in places if (found := _under(facts, place, point)) is not None)


def _stores(facts: Facts, wanted: Iterable[Flag]) -> Iterator[Site]:
    names = {flag.name for flag in wanted}
    for file in facts.program:
        module = facts.program.module(file)
        if module is None or facts.is_library(file) or not names & module.words:
            continue
        for assign in (*module.of(ast.Assign), *module.of(ast.AugAssign)):
            targets = assign.targets if isinstance(assign, ast.Assign) else [assign.target]
            if any(_is_store(target, names) for target in targets) and not _clears(assign.value):
                function = enclosing.innermost_function(module.tree, assign.lineno)
                yield Site(file, assign.lineno, function.name if function else "<module>")


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


def _under(facts: Facts, place: Site, point: BranchPoint) -> BranchPoint | None:
    """The innermost condition around the line that can differ between ranks; None if all are equal on all ranks."""
    text = facts.line(place)
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
        facts.line(site).rstrip(":"),
        point.jump,
        point.jump_text,
        shown=place,
        sets=text,
        tested=point.site,
        tested_text=point.text,
    )
