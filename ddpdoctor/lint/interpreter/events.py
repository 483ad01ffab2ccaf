"""Events: the calls, loops and branches of the simulated job, which rules read besides traces."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.trace import Trace
from ddpdoctor.lint.values.abstract_objects import Arguments
from ddpdoctor.lint.values.values import EVERY_RANK, Atom, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import record
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.sites import SourceSite


class Wrap(NamedTuple):
    """`DDP(network)`: its conditions, how the network is written, and whether the network's identity is certain."""

    guards: tuple[Guard, ...]
    text: str
    #: created in the same function, or a parameter: not one of several that a factory returns
    unique: bool
    site: SourceSite
    #: the attribute in which the wrapper has taken the network's place, "" if it has not
    replaced: str = ""


@record(frozen=True, slots=True)
class Guard:
    """A condition that holds where an event happens."""

    truth: tuple[Atom, ...]
    side: bool
    value: Value
    text: str
    site: SourceSite


class Setting(NamedTuple):
    """`os.environ[name] = value`, or a flag that a framework reads, `trainer.should_stop = value`, in every rank that
    executes it."""

    name: str
    value: Value
    site: SourceSite
    context: Context


@record(frozen=True, slots=True, eq=False)
class RateSetting:
    """`group["lr"] = value`, of a group of an optimizer."""

    optimizer: Value
    value: Value
    #: it becomes a multiple of what it was
    multiplies: bool
    site: SourceSite
    context: Context
    #: of the call that comes next
    index: int


class NamedPart(NamedTuple):
    """`parts[name] = network`, of torch's dict of networks."""

    name: Value
    site: SourceSite
    context: Context


@record(frozen=True, slots=True, eq=False)
class Switched:
    """`parameter.requires_grad = value`, or the flag of a wrapper by which it averages gradients"""

    owner: Value
    value: Value
    site: SourceSite
    context: Context
    #: of the call that comes next
    index: int


class TakenShare(NamedTuple):
    """Where a rank takes its share of something by its number."""

    site: SourceSite
    #: whether the share is known to be one of as many as the job has ranks
    sure: bool


class Attached(NamedTuple):
    """A function that its decorator, a method of `owner`, hands over to be called later, by some ranks only."""

    function: Value
    owner: Value
    site: SourceSite
    context: Context


@record(frozen=True, slots=True)
class EnclosingLoop:
    """A loop that an event happens in; `node` is the statement (or comprehension) itself."""

    node: ast.AST
    site: SourceSite
    #: what is iterated, without `enumerate`, `tqdm` and the like; None for `while`
    over: Value | None
    target: str
    #: it goes through a few objects of the project, with a turn for each
    unrolled: bool = False
    #: the iterator that it takes its elements from, if others may take some as well
    iterator: Value | None = None


@record(frozen=True, slots=True, eq=False)
class Context:
    """The context in which an event happens."""

    module: Module
    function: FunctionInfo | None
    #: ranks that execute it
    mask: int
    #: loops, including callers', outermost first
    loops: tuple[EnclosingLoop, ...]
    #: conditions, including callers', outermost first
    guards: tuple[Guard, ...]
    #: inside `torch.no_grad()` or `inference_mode()`
    no_grad: bool
    #: "", "try", "except" or "finally"
    handler: str
    #: names of the functions on the call path, outermost first; "<module>" if the script itself starts it
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
        """Whether it is reached from the file's own top level, so that nothing outside can guard it."""
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
    #: the call is a statement of its own, so its result is lost
    unused: bool


@record(frozen=True, slots=True, eq=False)
class Access:
    """A read of an attribute of a wrapped model."""

    owner: Value
    name: str
    node: ast.Attribute
    site: SourceSite
    context: Context


@record(slots=True, eq=False)
class Iteration:
    """A start of a `for` loop."""

    loop: EnclosingLoop
    context: Context
    index: int
    #: what its body does this time, None if the body is not yet known, or elsewhere
    body: Trace | None = None


@record(frozen=True, slots=True, eq=False)
class BranchEvent:
    """An `if` whose condition is not the same constant on all ranks."""

    guard: Guard
    node: ast.AST
    context: Context
