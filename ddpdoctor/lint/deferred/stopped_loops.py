"""Loops that end as soon as a method of their object was called: by the names of methods, in all files. Pure.

A hook asks the trainer that it is given to stop; the trainer keeps that in an attribute, and its loop asks for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.lint.deferred.meetings import Definition, Meetings
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import last_name, walk


class Stopped(NamedTuple):
    """Where a loop that goes backward is left, and the class whose method that is."""

    at: Place
    owner: str


def by_method(meetings: Meetings, name: str, receiver: str) -> Stopped | None:
    """The loop that ends after a method of this name, of an object that is called `receiver`; None if that cannot be
    told: all classes that are meant have to have such a loop."""
    methods = meetings.methods(name, receiver)
    found = [_left(method) for method in methods]
    left = [one for one in found if one is not None]
    return left[0] if left and len(left) == len(found) else None


def _left(method: Definition) -> Stopped | None:
    """The loop of a method's class that what the method sets ends."""
    owner = method.owner
    flags = _set(method.node)
    if owner is None or not flags or _may_agree(owner, flags):
        return None
    for loop in walk(owner):
        if isinstance(loop, (ast.For, ast.While)) and _goes_backward(loop):
            line = next(_exits(loop, flags), None)
            if line is not None:
                return Stopped(Place(method.path, line), owner.name)
    return None


def _exits(loop: ast.For | ast.While, flags: set[str]) -> Iterator[int]:
    """The lines where the loop is left by one of the flags."""
    for node in walk(loop):
        leaves = isinstance(node, ast.If) and any(isinstance(s, (ast.Return, ast.Break)) for s in node.body)
        if leaves and isinstance(node, ast.If) and _asks(node.test, flags):
            yield node.lineno
    if isinstance(loop, ast.While) and _asks(loop.test, flags):
        yield loop.lineno


def _asks(test: ast.expr, flags: set[str]) -> bool:
    """Whether a condition reads one of the flags itself, and hands it to no function."""
    nodes = walk(test)
    return any(_own_name(n) in flags for n in nodes) and not any(isinstance(n, ast.Call) for n in nodes)


def _may_agree(owner: ast.ClassDef, flags: set[str]) -> bool:
    """Whether the class tells other ranks of a flag, or makes a tensor of it to do so."""
    calls = (node for node in walk(owner) if isinstance(node, ast.Call))
    telling = (call for call in calls if last_name(call.func) in _TELLING)
    return any(_own_name(n) in flags for call in telling for n in walk(call))


_TELLING = frozenset({*frameworks.AGREEING, "tensor", "as_tensor", "broadcast_object_list"})


def _goes_backward(loop: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) and last_name(n.func) == "backward" for n in walk(loop))


def _set(method: ast.AST) -> set[str]:
    """The attributes of its object that a method sets."""
    stored = (node for node in walk(method) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return {name for node in stored if (name := _own_name(node))}


def _own_name(node: ast.AST) -> str:
    """`name` of `self.name`, "" for anything else."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else ""
