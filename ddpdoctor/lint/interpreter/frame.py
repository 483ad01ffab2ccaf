"""The frame: the state of one function while it is simulated."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.events import Context, EnclosingLoop, Guard
from ddpdoctor.lint.interpreter.trace import Node
from ddpdoctor.lint.values.abstract_objects import Enclosing
from ddpdoctor.lint.values.tags import NO_TAGS, Tags
from ddpdoctor.lint.values.values import EVERY_RANK, Symbol, Taint, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.sites import SourceSite


class Reset(NamedTuple):
    """What a collective has done to the argument of a function."""

    #: the elements of it were overwritten
    of_elements: bool = False
    #: one rank alone has the result
    of_root: bool = False


@record(eq=False, slots=True)
class Frame:
    """Variables, the trace so far, and the current position."""

    module: Module
    function: FunctionInfo | None = None
    env: dict[str, Value] = field(default_factory=dict)
    closure: Enclosing | None = None
    #: ranks on this path; 0 if no rank gets here
    mask: int = EVERY_RANK
    out: list[Node] = field(default_factory=list)
    loops: tuple[EnclosingLoop, ...] = ()
    guards: tuple[Guard, ...] = ()
    no_grad: bool = False
    handler: str = ""
    calls: tuple[str, ...] = ()
    chain: tuple[SourceSite, ...] = ()
    withs: tuple[str, ...] = ()
    #: (ranks, value) of each `return`
    returns: list[tuple[int, Value]] = field(default_factory=list)
    #: the value of each `yield`, None if it is not known
    yields: list[Value | None] = field(default_factory=list)
    #: the rank chooses what it yields: shares differ by one at most
    yields_share: bool = False
    #: it yields several elements for each one of a share
    yields_several: bool = False
    #: tags of the rank's own data that decide how often it yields; None if no such data does
    yields_apart: Tags | None = None
    #: it yields in an endless loop
    yields_on: bool = False
    #: `self.attribute` and `parameter.attribute` stores, by object key
    stores: dict[tuple[int, str], Value] = field(default_factory=dict)
    #: the same where a `return` left that the rank's own data decided, with the tags of that data
    left: list[tuple[Tags, dict[tuple[int, str], Value]]] = field(default_factory=list)
    #: parameters overwritten in place by a collective
    resets: dict[str, Reset] = field(default_factory=dict)
    #: variables overwritten in place by a collective in the innermost loop, with the taints that they have since
    overwritten: dict[str, Taint] = field(default_factory=dict)
    #: the statement whose expression is being evaluated, if its value is dropped
    dropped: ast.expr | None = None
    #: nested functions defined here
    nested: list[FunctionInfo] = field(default_factory=list)
    #: number of guards inherited from callers
    entered: int = 0
    #: whether the network whose method runs here trains; None if nothing says it
    mode: Value | None = None
    #: tags of the rank's own data that decided which `return` it took; None if no such data did
    apart: Tags | None = None
    #: of the last event
    context: Context | None = None

    @property
    def alive(self) -> bool:
        return self.mask != 0

    def release(self) -> None:
        """Forget all values: a function that was made here refers to this frame, and they to the function."""
        for values in (self.env, self.returns, self.yields, self.stores, self.left, self.out):
            values.clear()
        self.loops, self.guards, self.mode, self.context = (), (), None, None


def decided_by(frame: Frame, node: ast.AST) -> Tags | None:
    """Tags of the ranks' own data that decide, in this function, whether the node runs; None if no such data does."""
    tags: Tags | None = None
    line = getattr(node, "lineno", 0)
    for guard in frame.guards[frame.entered :]:
        atom = guard.truth[0]
        if len(guard.truth) != 1 or not isinstance(atom, Symbol) or atom.taint is not Taint.RANK_LOCAL:
            continue
        # a guard stays after a branch that has left: what follows does not depend on this rank's data alone
        if guard.site.file == frame.module.path and guard.site.line <= line <= guard.site.end_line:
            tags = (tags or NO_TAGS) | guard.value.tags
    return tags
