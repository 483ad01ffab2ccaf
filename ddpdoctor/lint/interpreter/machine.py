"""The state of an analysis and its recursive operations, shared by the parts of the interpreter.

Evaluating an expression may call a function, calling it executes its statements, and executing them evaluates
expressions. Handlers of expressions, statements and calls reach one another only through `Machine`, so their modules do
not import each other in a cycle. `Analysis` (analysis.py) implements it.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from ddpdoctor.lint.interpreter.events import (
    Access,
    Attached,
    BranchEvent,
    CallEvent,
    Context,
    Iteration,
    NamedPart,
    RateSetting,
    Setting,
    Switched,
    TakenShare,
    Wrap,
)
from ddpdoctor.lint.interpreter.frame import Frame, Reset
from ddpdoctor.lint.interpreter.observations import Observations
from ddpdoctor.lint.interpreter.trace import Trace
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values.abstract_objects import Function, Given
from ddpdoctor.lint.values.symbols import Held, hold
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Atom, Keywords, Taint, Value
from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.program.project import Project
from ddpdoctor.program.sites import SourceSite, site_of


@record(eq=False, slots=True)
class CallOutcome:
    """The effects of calling a function with certain arguments."""

    value: Value
    trace: Trace
    #: stores into objects that were passed in
    stores: dict[tuple[int, str], Value]
    #: parameters that a collective overwrites
    resets: dict[str, Reset]
    #: no rank returns from it
    ends: bool = False
    #: the value of each `return`
    each: tuple[Value, ...] = ()


@record(eq=False, slots=True)
class Outcomes:
    """What is known of one function with one set of arguments in one context."""

    recorded: CallOutcome | None = None
    #: from a call that was only tried out, whose events were dropped
    tried: CallOutcome | None = None


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
    #: the taints that annotation comments give to nodes, by module and the node's `id`
    annotated: Mapping[Module, Mapping[int, Taint]]
    #: keeps the table of symbols alive
    held_symbols: Held = field(default_factory=hold)
    calls: list[CallEvent] = field(default_factory=list)
    iterations: list[Iteration] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    #: flags by which a framework ends its loops
    stops: list[Setting] = field(default_factory=list)
    #: learning rates that are written into an optimizer
    rates: list[RateSetting] = field(default_factory=list)
    #: gradients of single parameters that are switched on or off
    switched: list[Switched] = field(default_factory=list)
    #: parts that a network is given, one by one, in a dict
    named_parts: list[NamedPart] = field(default_factory=list)
    #: wrappers that are told whether their next backward pass averages gradients
    sharing: list[Switched] = field(default_factory=list)
    #: functions that decorators hand over on some ranks only
    attached: list[Attached] = field(default_factory=list)
    #: conditions that the program asserts
    asserted: list[Atom] = field(default_factory=list)
    branches: list[BranchEvent] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    #: reads of attributes of networks that a framework has prepared: in a wrapper, if there are several ranks
    prepared: list[Access] = field(default_factory=list)
    #: networks in a DDP wrapper, by object key
    wrapped: dict[int, Wrap] = field(default_factory=dict)
    roots: list[Root] = field(default_factory=list)
    #: functions that were simulated in some context
    ran: set[FunctionInfo] = field(default_factory=set)
    #: attribute values of objects, by object key
    heap: dict[tuple[int, str], Value] = field(default_factory=dict)
    #: some network was put into training or evaluation
    modes: bool = False
    #: global random generators: how each was last seeded, and in which root
    generators: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    #: every local module that was analysed
    reached: dict[str, Module] = field(default_factory=dict)
    #: statements simulated so far
    steps: int = 0
    #: number of open `quietly` blocks: events are dropped in them
    silent: int = 0
    #: the analysis stopped somewhere because the source nests too deeply
    too_deep: bool = False
    #: outcomes of calls, by function, arguments and everything else that affects them
    outcomes: dict[tuple[object, ...], Outcomes] = field(default_factory=dict)
    #: what methods store in their objects, by class, where the object was made, and method
    stored: dict[tuple[object, ...], CallOutcome] = field(default_factory=dict)
    #: members of what is outside the project, by the owner's dotted name and their own; builtins by "" and theirs
    externals: dict[tuple[str, str], Value] = field(default_factory=dict)
    #: top-level names, by file and name
    globals_: dict[tuple[str, str], Value | None] = field(default_factory=dict)
    #: values that functions store in globals of their file; None if that is not one value on all ranks
    rebound: dict[tuple[str, str], Value | None] = field(default_factory=dict)
    #: (file, name, constant) of globals that a context manager changes while its block runs
    held: frozenset[tuple[str, str, object]] = frozenset()
    attributes: dict[tuple[object, ...], Value | None] = field(default_factory=dict)
    #: frameworks' classes that a class inherits from
    bases: dict[ClassInfo, tuple[str, ...]] = field(default_factory=dict)
    #: the project's classes that a class is and inherits from, once all of them are known
    lineages: dict[ClassInfo, list[ClassInfo]] = field(default_factory=dict)
    #: functions that are being simulated, outermost first
    stack: list[FunctionInfo] = field(default_factory=list)
    #: frames in which functions were made, each perhaps several times
    enclosing: list[Frame] = field(default_factory=list)
    #: wrappers that the project's decorators return in place of functions
    wrappers: dict[FunctionInfo, Function | None] = field(default_factory=dict)
    #: where a rank takes its share of something by its number, by the number of the share's symbol
    shares: dict[int, TakenShare] = field(default_factory=dict)
    #: where the set was made in whose order something is, by the number of its symbol
    set_orders: dict[int, SourceSite] = field(default_factory=dict)
    #: elements over which loops iterate, by the number of their symbol
    elements: set[int] = field(default_factory=set)
    #: objects that one process has made and handed to those that it starts, by key, as long as those run
    handed: frozenset[int] = frozenset()
    #: observations for questions about single conditions; None in a lint run
    observed: Observations | None = None

    @abstractmethod
    def evaluate(self, frame: Frame, node: ast.expr) -> Value:
        """The value of an expression; calls in it are followed and recorded."""

    @abstractmethod
    def execute(self, frame: Frame, body: list[ast.stmt]) -> None:
        """Simulate statements until the end or until no rank continues."""

    @abstractmethod
    def call(
        self, function: Function, args: tuple[Value, ...], keywords: Keywords, frame: Frame, site: SourceSite
    ) -> CallOutcome | None:
        """The outcome of calling a function of the project; None if the call is not followed."""

    @abstractmethod
    def follow(self, frame: Frame, function: Function, given: Given) -> Value:
        """Call a function of the project, or the wrapper that its decorators return, with all its effects."""

    @abstractmethod
    def run_spawned(self, info: FunctionInfo, args: Sequence[Value], parent: Frame, site: SourceSite) -> None:
        """Simulate a function that a new process runs, as a root of its own."""

    def by_name(self, value: Value, name: str) -> Value:
        """A value known only by its name, such as a rank or settings; lint itself does not go by names."""
        if self.observed is None or value.taint is not Taint.UNKNOWN:
            return value
        if name in vocabulary.SETTINGS_NAMES:
            return value._replace(taint=Taint.GIVEN)
        return value.tagged(Tag.RANK_BY_NAME) if name in vocabulary.RANK_NAMES else value

    def observe(self, frame: Frame, node: ast.AST, value: Value | None = None) -> None:
        """Record a condition's value here, or the conditions under which a statement or call runs, if someone asks."""
        if self.observed is not None:
            self.observed.add(frame, node, value, silent=self.silent > 0)

    def quietly(self) -> AbstractContextManager[None]:
        """Record no events inside: something is only tried out, or was recorded elsewhere."""
        return _Quiet(self)

    def context(self, frame: Frame) -> Context:
        """The context of `frame`'s current position."""
        last = frame.context
        # most events happen where the one before has
        if (
            last is not None
            and last.guards is frame.guards
            and last.loops is frame.loops
            and last.mask == frame.mask
            and last.withs is frame.withs
            and last.handler == frame.handler
            and last.no_grad is frame.no_grad
        ):
            return last
        frame.context = made = Context(
            frame.module, frame.function, frame.mask, frame.loops, frame.guards, frame.no_grad, frame.handler,
            frame.calls, frame.chain, frame.withs,
        )  # fmt: skip
        return made

    def site(self, frame: Frame, node: ast.AST) -> SourceSite:
        """The position of a node in the frame's file."""
        known: SourceSite | None = node.__dict__.get("_site")
        return known if known is not None else site_of(frame.module, node)


class _Quiet(AbstractContextManager[None]):
    """Exited however the block ends: the source may nest too deeply."""

    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __enter__(self) -> None:
        self._machine.silent += 1

    def __exit__(self, *_: object) -> None:
        self._machine.silent -= 1
