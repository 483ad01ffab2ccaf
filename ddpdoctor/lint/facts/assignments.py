"""Binding targets: names, attributes of known objects, the parts of a tuple."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ddpdoctor.lint.facts import filling
from ddpdoctor.lint.facts.frame import Frame, choose, decided_by, left_alone
from ddpdoctor.lint.facts.parts import parts_of
from ddpdoctor.lint.facts.things import Instance, Table
from ddpdoctor.lint.facts.values import (
    EVERY_RANK,
    PART,
    WORLD,
    Taint,
    Value,
    asserted,
    binary,
    symbol_key,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis


def plain(analysis: Analysis, frame: Frame, node: Any) -> None:
    value = analysis.evaluate(frame, node.value)
    for target in node.targets:
        assign(analysis, frame, target, value)


def annotated(analysis: Analysis, frame: Frame, node: Any) -> None:
    if node.value is not None:
        assign(analysis, frame, node.target, analysis.evaluate(frame, node.value))


def augmented(analysis: Analysis, frame: Frame, node: Any) -> None:
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target) if isinstance(
        node.target, ast.Name) else None  # fmt: skip
    left = analysis.evaluate(frame, load) if load is not None else unknown("augmented", id(node))
    if isinstance(node.target, ast.Attribute):
        left = analysis.evaluate(frame, node.target)
    right = analysis.evaluate(frame, node.value)
    assign(analysis, frame, node.target, binary(type(node.op).__name__, left, right))


def assign(analysis: Analysis, frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind a target; unpacks known tuples and remembers attributes of known objects."""
    taints = frame.module.taught.taints
    if taints and id(target) in taints:
        value = asserted(value, taints[id(target)])
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
        if frame.function is not None and target.id in frame.function.outer:
            _store_global(analysis, frame, target.id, value)
    elif isinstance(target, ast.Starred):
        assign(analysis, frame, target.value, unknown("starred", id(target)))
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(analysis, frame, target.elts, value)
    elif isinstance(target, ast.Attribute):
        owner = analysis.evaluate(frame, target.value)
        kept = chosen_here(frame, target, value) if isinstance(owner.thing, Instance) else value
        _store_attribute(analysis, frame, owner, target.attr, kept)
    elif isinstance(target, ast.Subscript):
        owner, index = analysis.evaluate(frame, target.value), analysis.evaluate(frame, target.slice)
        filled = filling.put(owner, index, value)
        if filled is not None:
            more = isinstance(owner.thing, Table) and not any(k == index.constant for k, _ in owner.thing.entries)
            apart = decided_by(frame, target) if more else None
            filled = filling.uneven(filled, apart) if apart is not None else filled
            filling.rebind(analysis, frame, target.value, filled)


def _store_global(analysis: Analysis, frame: Frame, name: str, value: Value) -> None:
    """`global RANK; RANK = dist.get_rank()`: what others read, as long as nothing else is stored there."""
    key = (frame.module.path, name)
    known = analysis.rebound.get(key, value)
    worth = value.thing is not None or (value.known and len(value.atoms) > 1)
    same = known == value and worth and frame.mask == EVERY_RANK
    analysis.rebound[key] = value if same else None


def _unpack(analysis: Analysis, frame: Frame, targets: list[ast.expr], value: Value) -> None:
    parts = parts_of(value)
    tags = value.tags | PART if value.taint is Taint.RANK_LOCAL else value.tags
    starred = [t for t in targets if isinstance(t, ast.Starred)]
    for index, target in enumerate(targets):
        element = unknown("part", value.atoms, index, taint=_element_taint(value), tags=tags)
        if parts is not None and len(parts) == len(targets):
            element = parts[index]
        elif parts is not None and index < len(parts) and target not in starred and targets[-1:] == starred:
            element = parts[index]  # `first, second, *_ = ...`
        assign(analysis, frame, target, element)


def _element_taint(value: Value) -> Taint:
    return Taint.RANK_LOCAL if value.taint is Taint.RANK_LOCAL else Taint.UNKNOWN


def chosen_here(frame: Frame, node: ast.AST, value: Value) -> Value:
    """What an attribute holds behind a branch on data of each rank: something else on another rank."""
    apart = decided_by(frame, node)
    if apart is None or value.thing is not None:
        return value
    return unknown("chosen", value.atoms, id(node), taint=Taint.RANK_LOCAL, tags=value.tags | apart)


def _store_attribute(analysis: Analysis, frame: Frame, owner: Value, name: str, value: Value) -> None:
    key = symbol_key(owner)
    if key is None:
        return
    if frame.mask != EVERY_RANK:
        known = frame.stores.get((key, name))
        if known is not None and known != value:
            value = choose((), value, frame.mask, known, EVERY_RANK & ~frame.mask, ("stored", key, name))
        elif known is None:
            untouched = left_alone(key, name)
            atoms = tuple(value.at(r) if frame.mask & 1 << r else untouched for r in range(WORLD))
            value = Value(atoms, Taint.RANK, value.thing, value.tags)
    frame.stores[(key, name)] = value
    analysis.heap[(key, name)] = value
