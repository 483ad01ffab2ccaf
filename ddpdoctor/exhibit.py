"""Pure. Evidence and its report -> what the renderers draw, in the vocabulary of `model`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ddpdoctor.archive.downsample import downsample
from ddpdoctor.diagnose.digest import frames, wait_graph
from ddpdoctor.diagnose.digest.histories import History, HistoryStep, read_history
from ddpdoctor.diagnose.digest.sides import HistorySplit, divide
from ddpdoctor.diagnose.digest.wait_graph import WaitGraph
from ddpdoctor.merge.recorder_set import from_evidence
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.exhibit import Edge, Exhibit
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.recorder_set import RecorderSet
from ddpdoctor.model.report import Report, StackNode

#: ranks among which the waits are looked for: the cost is quadratic in it, and ranks that are alike are one box
_MOST_COMPARED = 128


def of(report: Report, evidence: Evidence | None, recorders: RecorderSet | None = None) -> Exhibit:
    """The report with what can be drawn of its evidence; `recorders`: those of dumps, which are not in the evidence."""
    if evidence is None:
        return Exhibit(report, recorders=recorders, installed=_installed(report, None))
    sample = downsample(evidence, _MOST_COMPARED)
    return Exhibit(
        report,
        evidence,
        tuple(_edges(wait_graph.build(sample))),
        0 if sample is evidence else len(sample.ranks),
        _partings(evidence),
        recorders or from_evidence(evidence),
        _installed(report, evidence),
    )


def _installed(report: Report, evidence: Evidence | None) -> frozenset[str]:
    """The files of all stacks that are not the program's own."""
    own = frames.own_packages(evidence) if evidence else frozenset[str]()
    stacks = [seen.stacks for seen in evidence.ranks if seen.stacks] if evidence else []
    files = {frame.file for stack in stacks for thread in stack.threads for frame in thread.frames}
    files.update(_files(report.stacks))
    return frozenset(file for file in files if frames.is_library(file, own))


def _files(nodes: Iterable[StackNode]) -> Iterator[str]:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node.site.file
        waiting.extend(node.children)


def _edges(graph: WaitGraph) -> Iterator[Edge]:
    for rank in sorted(graph.waits):
        wait = graph.main_wait(rank)
        if wait is not None and len(wait.targets):
            yield Edge(rank, wait.targets, any_of=not len(wait.needs), stuck=rank in graph.stuck)


def _partings(evidence: Evidence) -> Mapping[Rank, float]:
    """When each rank of a side that parted from the largest one did so, and when the largest one did."""
    histories = {seen.rank: history for seen in evidence.ranks if (history := read_history(seen))}
    found: dict[Rank, float] = {}
    for split in divide(histories):
        for rank, time in _times(split, histories):
            found.setdefault(rank, time)
    return found


def _times(split: HistorySplit, histories: Mapping[Rank, History]) -> Iterator[tuple[Rank, float]]:
    for ranks, following in ((split.odd, split.cause.left_next), (split.reference, split.cause.right_next)):
        for rank in ranks:
            time = _time_of(histories[rank], split.cause.before, following)
            if time is not None:
                yield rank, time


def _time_of(history: History, before: HistoryStep | None, following: HistoryStep | None) -> float | None:
    """When the step after the newest `before` began; None for a history that ends there."""
    if following is None:
        return None
    newest = max((i for i, step in enumerate(history.steps) if step == following), default=None)
    if before is None or newest is None:
        return None if newest is None else history.times[newest]
    start = max((i for i, step in enumerate(history.steps[:newest]) if step == before), default=0)
    first = next(i for i in range(start, newest + 1) if history.steps[i] == following)
    return history.times[first]
