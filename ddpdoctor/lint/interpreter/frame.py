"""The state of one function while it is simulated."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.events import EnclosingLoop, Guard
from ddpdoctor.lint.interpreter.trace import Node
from ddpdoctor.lint.values.tags import NO_TAGS, Tags
from ddpdoctor.lint.values.values import EVERY_RANK, Symbol, Taint, Value
from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.sites import SourceSite


@record(eq=False, slots=True)
class Frame:
    """Variables, emitted trace, and where we are."""

    module: Module
    function: FunctionInfo | None = None
    env: dict[str, Value] = field(default_factory=dict)
    closure: dict[str, Value] | None = None
    #: ranks on this path; 0 means that nobody comes here
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
    #: what each `yield` gives, None where it is not known
    yields: list[Value | None] = field(default_factory=list)
    #: what it yields is chosen by rank, one more or one less
    yields_share: bool = False
    #: it yields in a loop without end
    yields_on: bool = False
    #: `self.attribute` and `parameter.attribute` stores, by object key
    stores: dict[tuple[int, str], Value] = field(default_factory=dict)
    #: parameters overwritten in place by a collective
    resets: set[str] = field(default_factory=set)
    #: the statement whose expression is being evaluated, when its value is dropped
    dropped: ast.expr | None = None
    #: nested functions defined here
    nested: list[FunctionInfo] = field(default_factory=list)
    #: guards that callers brought along
    entered: int = 0
    #: tags of the data of each rank that decided which `return` it took; None where no such data did
    apart: Tags | None = None

    @property
    def alive(self) -> bool:
        return self.mask != 0


def decided_by(frame: Frame, node: ast.AST) -> Tags | None:
    """Tags of the data of each rank on which it depends, in this function, whether the node runs; None without such."""
    tags: Tags | None = None
    line = getattr(node, "lineno", 0)
    for guard in frame.guards[frame.entered :]:
        atom = guard.truth[0]
        if len(guard.truth) != 1 or not isinstance(atom, Symbol) or atom.taint is not Taint.RANK_LOCAL:
            continue
        # a guard stays behind a branch that has left: what follows is no choice of this rank's data alone
        if guard.site.file == frame.module.path and guard.site.line <= line <= guard.site.end_line:
            tags = (tags or NO_TAGS) | guard.value.tags
    return tags
