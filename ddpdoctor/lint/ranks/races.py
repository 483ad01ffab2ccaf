"""Tests for a file that another rank may be writing at the same time, with no collective in between."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, FileEvent, Loop, Op, Scope, Trace
from ddpdoctor.lint.values.symbols import file_question
from ddpdoctor.lint.values.tags import REASONS, Tag
from ddpdoctor.lint.values.values import Symbol, Taint
from ddpdoctor.model.record import field, record
from ddpdoctor.program.sites import SourceSite


def decides(branch: Branch) -> bool:
    """Whether a branch depends only on a file that all ranks test for."""
    atom = branch.truth[0]
    asks = len(branch.truth) == 1 and isinstance(atom, Symbol) and atom.taint is Taint.FILES
    return asks and not branch.tags & (REASONS & ~Tag.FILE) and not branch.tags & Tag.OWN_FILE


def races(trace: Trace) -> dict[SourceSite, SourceSite]:
    """Branches on whether a file exists, with the place that writes it, if no collective separates the two."""
    walk = _Walk()
    walk.through(trace, _Near(), [])
    found: dict[SourceSite, SourceSite] = {}
    for branch in walk.branches:
        head, atom = branch.site, branch.truth[0]
        # the same may be asked again elsewhere, when the file is about to be written
        here = {answer for answer, asked in walk.asked if _is_at(asked, head)}
        for (answer, asked), written in walk.found.items():
            # a branch's site covers its whole body: tests for files inside the body do not decide the branch
            if _is_at(asked, head) or (answer not in here and _made_of(atom, answer)):
                found.setdefault(head, written)
    return found


def _is_at(asked: SourceSite, head: SourceSite) -> bool:
    return asked.file == head.file and asked.line == head.line


def _made_of(atom: object, answer: int) -> bool:
    if not isinstance(atom, Symbol):
        return False
    return atom.key == answer or any(_made_of(part, answer) for part in atom.parts or ())


#: most steps of one walk: helpers that call helpers many times over would make it endless
_MOST = 20_000


@record(frozen=True, slots=True)
class _Near:
    """File events since the last collective on any path, and those of them that a collective follows on another path:
    it stands under a condition (`if distributed: barrier()`), which holds where there are ranks to race."""

    events: frozenset[FileEvent] = frozenset()
    doubtful: frozenset[FileEvent] = frozenset()

    def joined(self, ends: Sequence[_Near]) -> _Near:
        """After one of these, which all began here."""
        events = frozenset[FileEvent]().union(*(end.events for end in ends))
        passed = self.events.intersection(*(end.events for end in ends))
        doubtful = frozenset[FileEvent]().union(*(end.doubtful for end in ends))
        return _Near(events, doubtful | ((self.events - passed) & events))


_Left = list[tuple[str, _Near]]


@record(slots=True)
class _Walk:
    #: (question, where it is asked) -> where the file is written
    found: dict[tuple[int, SourceSite], SourceSite] = field(default_factory=dict)
    #: questions, and where they are asked
    asked: set[tuple[int, SourceSite]] = field(default_factory=set)
    #: branches on the path that test for files
    branches: list[Branch] = field(default_factory=list)
    steps: int = 0

    def through(self, nodes: Trace, near: _Near, left: _Left) -> _Near | None:
        """The file events at the end of the nodes; None if no path gets there."""
        for node in nodes:
            self.steps += 1
            if self.steps > _MOST:
                return None
            if isinstance(node, FileEvent):
                near = self._meet(node, near)
            elif isinstance(node, Op):
                near = near if node.members is not None else _Near()
            elif isinstance(node, BlockExit):
                if node.kind != "yield":
                    left.append((node.kind, near))
                    return None
            elif isinstance(node, (Branch, Loop, Scope)):
                after = self._inside(node, near, left)
                if after is None:
                    return None
                near = after
        return near

    def _inside(self, node: Branch | Loop | Scope, near: _Near, left: _Left) -> _Near | None:
        """The nodes inside, once: a loop is assumed to run."""
        if isinstance(node, Branch):
            if any(isinstance(a, Symbol) and a.taint is Taint.FILES for a in node.truth):
                self.branches.append(node)
            ends = [self.through(side, near, left) for side in (node.then, node.other)]
        else:
            inner: _Left = []
            ends = [self.through(node.body, near, inner)]
            stops = ("return",) if isinstance(node, Scope) else ("break", "continue")
            ends += [state for kind, state in inner if kind in stops]
            left += [(kind, state) for kind, state in inner if kind not in stops]
        reached = [end for end in ends if end is not None]
        return near.joined(reached) if reached else None

    def _meet(self, mark: FileEvent, near: _Near) -> _Near:
        if mark.kind == "asked":
            self.asked.add((file_question(mark.path, mark.what), mark.site))
        for other in near.events - near.doubtful:
            if other.path != mark.path or other.kind == mark.kind:
                continue
            asked, written = (mark, other) if mark.kind == "asked" else (other, mark)
            if not asked.what or written.what in (asked.what, "anything"):
                self.found.setdefault((file_question(asked.path, asked.what), asked.site), written.site)
        return _Near(near.events | {mark}, near.doubtful - {mark})
