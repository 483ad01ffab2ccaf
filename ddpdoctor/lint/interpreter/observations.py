"""Conditions as the simulated job came to them, and under which others each statement and call ran.

Kept only where somebody asks what one condition depends on; a lint run keeps none.
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
    """A node as the simulation came to it once."""

    node: ast.AST
    #: what a condition, or the object of a `for`, was; None of statements and calls
    value: Value | None
    #: conditions of the same function under which it ran, decorators included, outermost first
    guards: tuple[Guard, ...]
    #: sites of the calls that led here, outermost first
    chain: tuple[SourceSite, ...]
    module: Module
    #: the function that it stands in, None at a file's top level
    function: FunctionInfo | None
    #: only tried out: a loop's first turn, an attribute's value
    silent: bool


@record(eq=False, slots=True)
class Observations:
    """All that was seen, by file."""

    by_file: dict[str, list[Seen]] = field(default_factory=dict)

    def add(self, frame: Frame, node: ast.AST, value: Value | None, *, silent: bool) -> None:
        seen = Seen(node, value, frame.guards[frame.entered :], frame.chain, frame.module, frame.function, silent)
        self.by_file.setdefault(frame.module.path, []).append(seen)
