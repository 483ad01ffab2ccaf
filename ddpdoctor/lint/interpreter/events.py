"""What rules read besides traces: the calls, loops and branches that the simulated job went through."""

from __future__ import annotations

import ast
from typing import NamedTuple

from ddpdoctor.lint.interpreter.trace import Trace
from ddpdoctor.lint.values.abstract_objects import Arguments
from ddpdoctor.lint.values.values import EVERY_RANK, Atom, Value
from ddpdoctor.model.record import record
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.sites import SourceSite


class Wrap(NamedTuple):
    """`DDP(network)`: under which conditions, how the network is written, and whether its identity is sure."""

    guards: tuple[Guard, ...]
    text: str
    #: made in the same function, or a parameter: not one of several that a factory gives
    unique: bool
    site: SourceSite


@record(frozen=True, slots=True)
class Guard:
    """A condition that holds where an event happens."""

    truth: tuple[Atom, ...]
    side: bool
    value: Value
    text: str
    site: SourceSite


@record(frozen=True, slots=True)
class EnclosingLoop:
    """A loop that an event happens in; `node` is the statement (or comprehension) itself."""

    node: ast.AST
    site: SourceSite
    #: what is iterated, with `enumerate`, `tqdm` and the like taken off; None for `while`
    over: Value | None
    target: str


@record(frozen=True, slots=True, eq=False)
class Context:
    """Where in the program an event happens."""

    module: Module
    function: FunctionInfo | None
    #: ranks that come here
    mask: int
    #: loops, callers' included, outermost first
    loops: tuple[EnclosingLoop, ...]
    #: conditions, callers' included, outermost first
    guards: tuple[Guard, ...]
    #: inside `torch.no_grad()` or `inference_mode()`
    no_grad: bool
    #: "", "try", "except" or "finally"
    handler: str
    #: names of the functions on the way here, outermost first; "<module>" when the script itself starts it
    calls: tuple[str, ...]
    #: sites of those calls
    chain: tuple[SourceSite, ...]
    #: context managers entered by name, e.g. "join"
    withs: tuple[str, ...] = ()

    @property
    def some_ranks_only(self) -> bool:
        return self.mask != EVERY_RANK

    @property
    def from_script(self) -> bool:
        """Reached from the file's own top level, so nothing outside can guard it."""
        return bool(self.calls) and self.calls[0] == "<module>"


@record(frozen=True, slots=True, eq=False)
class CallEvent(Arguments):
    """A call of something outside the project (`path`), or of a method of an object (`method`)."""

    #: canonical dotted name, "" for a method of an object that is not a module
    path: str
    #: the method's name, "" for a plain function
    method: str
    receiver: Value | None
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    result: Value
    node: ast.Call
    site: SourceSite
    context: Context
    #: running number: order of execution
    index: int
    #: the call stands alone as a statement: its result is lost
    unused: bool


@record(frozen=True, slots=True, eq=False)
class Access:
    """An attribute that is read from a wrapped model."""

    owner: Value
    name: str
    node: ast.Attribute
    site: SourceSite
    context: Context


@record(slots=True, eq=False)
class Iteration:
    """A `for` loop that starts."""

    loop: EnclosingLoop
    context: Context
    index: int
    #: what it does this time, None where its body is not known by now, or stands elsewhere
    body: Trace | None = None


@record(frozen=True, slots=True, eq=False)
class BranchEvent:
    """An `if` whose condition was not the same constant on all ranks."""

    guard: Guard
    node: ast.AST
    context: Context
