"""Observed conditions: their values in the simulated job, and the conditions under which statements and calls ran.

Recorded only if someone asks what a condition depends on; a lint run records none.
"""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.events import Guard
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.sites import SourceSite


@record(frozen=True, slots=True, eq=False)
class Seen:
    """One observation of a node."""

    node: ast.AST
    #: the value of a condition, or of the object of a `for`; None for statements and calls
    value: Value | None
    #: conditions in the same function under which it ran, including decorators, outermost first
    guards: tuple[Guard, ...]
    #: sites of the calls that led here, outermost first
    chain: tuple[SourceSite, ...]
    module: Module
    #: the function that it is in, None at a file's top level
    function: FunctionInfo | None
    #: only tried out: a loop's first iteration, an attribute's value
    silent: bool


@record(eq=False, slots=True)
class Observations:
    """All observations, by file."""

    by_file: dict[str, list[Seen]] = field(default_factory=dict)

    def add(self, frame: Frame, node: ast.AST, value: Value | None, *, silent: bool) -> None:
        seen = Seen(node, value, frame.guards[frame.entered :], frame.chain, frame.module, frame.function, silent)
        self.by_file.setdefault(frame.module.path, []).append(seen)
