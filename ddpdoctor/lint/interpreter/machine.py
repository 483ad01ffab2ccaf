"""What the parts of the interpreter share and ask of one another: the state of an analysis, and its recursion.

Evaluating an expression may call a function, calling one executes its statements, executing them evaluates expressions:
the handlers of expressions, statements and calls reach one another through `Machine` alone, so no module of theirs
imports another one that imports it. `Analysis` (analysis.py) is the machine that runs.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from ddpdoctor.lint.interpreter.events import Access, BranchEvent, CallEvent, Context, Iteration, Wrap
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.observations import Observations
from ddpdoctor.lint.interpreter.trace import Trace
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values.abstract_objects import Function
from ddpdoctor.lint.values.symbols import Held, hold
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Keywords, Taint, Value
from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.program.project import Project
from ddpdoctor.program.sites import SourceSite, site_of


@record(eq=False, slots=True)
class CallOutcome:
    """What calling a function with certain arguments does."""

    value: Value
    trace: Trace
    #: stores into objects that were passed in
    stores: dict[tuple[int, str], Value]
    #: positions of parameters that a collective overwrites
    resets: tuple[str, ...]
    #: no rank comes back from it
    ends: bool = False


@record(eq=False, slots=True)
class Root:
    """A function (or the module itself, or a spawned function) analysed from its start."""

    name: str
    trace: Trace
    function: FunctionInfo | None


@record(eq=False, slots=True)
class Machine(ABC):
    """The state of an analysis of one module, and the operations that are recursive."""

    module: Module
    project: Project
    #: the taints that comments give to nodes, by module and the node's `id`
    annotated: Mapping[Module, Mapping[int, Taint]]
    #: keeps the numbers of symbols
    held_symbols: Held = field(default_factory=hold)
    calls: list[CallEvent] = field(default_factory=list)
    iterations: list[Iteration] = field(default_factory=list)
    branches: list[BranchEvent] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    #: networks that are in a DDP wrapper, by object key
    wrapped: dict[int, Wrap] = field(default_factory=dict)
    roots: list[Root] = field(default_factory=list)
    #: functions that were simulated in some context
    ran: set[FunctionInfo] = field(default_factory=set)
    #: attribute values of objects, by object key
    heap: dict[tuple[int, str], Value] = field(default_factory=dict)
    #: global random generators: how each was seeded last, and in which root
    generators: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    #: every local module that was looked into
    reached: dict[str, Module] = field(default_factory=dict)
    #: statements simulated so far
    steps: int = 0
    #: how many `quietly` blocks are open: events are dropped in them
    silent: int = 0
    #: the analysis gave up somewhere because the source nests too deeply
    too_deep: bool = False
    #: what calls gave, by function, arguments and everything else that decides it
    outcomes: dict[tuple[object, ...], CallOutcome] = field(default_factory=dict)
    #: top-level names, by file and name
    globals_: dict[tuple[str, str], Value | None] = field(default_factory=dict)
    #: what functions store in names of their file; None where that is not one thing on all ranks
    rebound: dict[tuple[str, str], Value | None] = field(default_factory=dict)
    #: (file, name, constant) of names that a context holds at something else while its block runs
    held: frozenset[tuple[str, str, object]] = frozenset()
    attributes: dict[tuple[object, ...], Value | None] = field(default_factory=dict)
    #: frameworks' classes that a class inherits from
    bases: dict[ClassInfo, tuple[str, ...]] = field(default_factory=dict)
    #: functions that are being simulated, outermost first
    stack: list[FunctionInfo] = field(default_factory=list)
    #: what decorators of the project put in place of a function
    wrappers: dict[FunctionInfo, Function | None] = field(default_factory=dict)
    #: what loops go through, by the key of its symbol
    elements: set[int] = field(default_factory=set)
    #: what is kept for questions about single conditions; None in a lint run
    observed: Observations | None = None

    @abstractmethod
    def evaluate(self, frame: Frame, node: ast.expr) -> Value:
        """The value of an expression; calls in it are followed and recorded."""

    @abstractmethod
    def execute(self, frame: Frame, body: list[ast.stmt]) -> None:
        """Simulate statements until the end or until no rank goes on."""

    @abstractmethod
    def call(
        self, function: Function, args: tuple[Value, ...], keywords: Keywords, frame: Frame, site: SourceSite
    ) -> CallOutcome | None:
        """The outcome of calling a function of the project; None where it is not followed."""

    @abstractmethod
    def follow(
        self, frame: Frame, function: Function, args: tuple[Value, ...], keywords: Keywords, site: SourceSite,
        node: ast.Call | None,
    ) -> Value:  # fmt: skip
        """Call a function of the project, or what its decorators have put in its place, with all that it does."""

    @abstractmethod
    def run_spawned(self, info: FunctionInfo, args: Sequence[Value], parent: Frame, site: SourceSite) -> None:
        """Simulate a function that a new process runs: a root of its own."""

    def by_name(self, value: Value, name: str) -> Value:
        """A value of which nothing is known but its name: that of a rank, or of settings; lint goes by no name."""
        if self.observed is None or value.taint is not Taint.UNKNOWN:
            return value
        if name in vocabulary.SETTINGS_NAMES:
            return value._replace(taint=Taint.GIVEN)
        return value.tagged(Tag.RANK_BY_NAME) if name in vocabulary.RANK_NAMES else value

    def observe(self, frame: Frame, node: ast.AST, value: Value | None = None) -> None:
        """Keep what a condition is here, or under which conditions a statement or call runs, if somebody asks."""
        if self.observed is not None:
            self.observed.add(frame, node, value, silent=self.silent > 0)

    def quietly(self) -> AbstractContextManager[None]:
        """No events are recorded inside: something is tried out, or looked up that has been recorded elsewhere."""
        return _Quiet(self)

    def context(self, frame: Frame) -> Context:
        """Where in the program `frame` is now."""
        return Context(
            frame.module, frame.function, frame.mask, frame.loops, frame.guards, frame.no_grad, frame.handler,
            frame.calls, frame.chain, frame.withs,
        )  # fmt: skip

    def site(self, frame: Frame, node: ast.AST) -> SourceSite:
        """Where a node of the frame's file stands."""
        return site_of(frame.module, node)


class _Quiet(AbstractContextManager[None]):
    """Left however the block ends: the source may nest too deeply for what is tried out."""

    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __enter__(self) -> None:
        self._machine.silent += 1

    def __exit__(self, *_: object) -> None:
        self._machine.silent -= 1
