"""Traces written by hand, as the interpreter would have recorded them."""

from __future__ import annotations

from itertools import count

from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, FileEvent, Loop, Node, Op, Scope
from ddpdoctor.lint.values.tags import NO_TAGS, Tags
from ddpdoctor.lint.values.values import Atom, Symbol, Taint
from ddpdoctor.program.sites import SourceSite

_line = count(1).__next__
#: conditions on the rank
FIRST = (True, False, False, False)
REST = (False, True, True, True)
EVEN = (True, False, True, False)


def site(file: str = "/job/main.py") -> SourceSite:
    """A line of its own."""
    line = _line()
    return SourceSite(file, line, 1, line, 80)


def op(name: str, members: tuple[int, ...] | None = None) -> Op:
    return Op(name, members, site())


def branch(truth: tuple[Atom, ...], then: tuple[Node, ...] = (), other: tuple[Node, ...] = (), *,
           tags: Tags = NO_TAGS) -> Branch:  # fmt: skip
    return Branch(truth, then, other, site(), "condition", tags)


def loop(times: tuple[Atom, ...], *body: Node, endless: bool = False) -> Loop:
    return Loop(times, body, site(), endless)


def leave(kind: str) -> BlockExit:
    return BlockExit(kind, site())


def call(*body: Node) -> Scope:
    return Scope("helper", body, site())


def asked(path: str) -> FileEvent:
    return FileEvent("asked", path, "file", site())


def written(path: str) -> FileEvent:
    return FileEvent("written", path, "file", site())


def unknown_condition(key: int, taint: Taint = Taint.UNKNOWN, *, negated: bool = False) -> tuple[Symbol]:
    return (Symbol(key, taint, negated),)
