"""Calls as they are simulated: what is called, with what, and where."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.values.abstract_objects import Arguments
from ddpdoctor.lint.values.values import Keywords, Value
from ddpdoctor.model.record import record
from ddpdoctor.program.sites import SourceSite


@record(frozen=True, slots=True, eq=False)
class FunctionCall(Arguments):
    """A call of a function or class by its canonical dotted name, as it is simulated."""

    machine: Machine
    frame: Frame
    path: str
    args: tuple[Value, ...]
    keywords: Keywords
    site: SourceSite
    node: ast.Call


@record(frozen=True, slots=True, eq=False)
class MethodCall(Arguments):
    """A call of a method of an object that is not the project's, as it is simulated; `__call__` calls the object."""

    machine: Machine
    frame: Frame
    name: str
    receiver: Value
    args: tuple[Value, ...]
    keywords: Keywords
    site: SourceSite
    node: ast.Call

    @property
    def given(self) -> tuple[Value, ...]:
        """All arguments, by position and by name."""
        return (*self.args, *(v for _, v in self.keywords))
