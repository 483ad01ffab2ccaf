"""An operation that every rank has entered and that does not finish, and what else is open on the same ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ddpdoctor.diagnose.digest import operations
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.facts import Facts, kept
from ddpdoctor.model.collectives import COLLECTIVE, RecorderEntry
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Rank, RankSet


@dataclass(frozen=True, slots=True)
class Met:
    """All ranks are in one operation of one group: no rank is missing."""

    waits: tuple[Wait, ...]
    #: other groups with an operation that was issued and has not finished -> the ranks that issued it
    beside: Mapping[str, RankSet]
    #: some of those are in the queues of devices, which the order of the calls does not decide
    on_devices: bool


@kept
def met(facts: Facts) -> Met | None:
    """The operation in which every rank waits; None if they are not in one, or if one may still move."""
    if facts.outcome is not Outcome.HANG or facts.splits:
        return None
    waits = tuple(wait for rank in facts.waiting if (wait := facts.wait(rank)))
    if len(waits) != len(facts.states) or not _all_in_one(waits) or not _all_seen(facts):
        return None
    beside: dict[str, list[Rank]] = {}
    on_devices = False
    for seen in facts.evidence.ranks:
        for entry in seen.recorder.entries if seen.recorder else ():
            if entry.group != _group(waits[0]) and _is_open(entry):
                beside.setdefault(entry.group, []).append(seen.rank)
                on_devices = on_devices or "nccl" in entry.backend
    return Met(waits, {name: RankSet.of(ranks) for name, ranks in beside.items()}, on_devices)


def _group(wait: Wait) -> str:
    return wait.group.name if wait.group else ""


def _is_open(entry: RecorderEntry) -> bool:
    return not entry.retired and entry.state != "completed"


def _all_in_one(waits: tuple[Wait, ...]) -> bool:
    """The same operation at the same place of the same group, entered by all of its members."""
    first = waits[0]
    if first.group is None or first.seq is None or first.kind not in COLLECTIVE:
        return False
    same = {(operations.family(wait.op), wait.group, wait.seq, wait.root) for wait in waits}
    members = RankSet.of(wait.rank for wait in waits) == RankSet.of(first.group.members)
    return len(same) == 1 and members and not any(wait.targets or wait.mismatched for wait in waits)


def _all_seen(facts: Facts) -> bool:
    """Two samples of every rank without progress, and every rank's own recorder."""
    return all(
        seen.recorder is not None and seen.motion is not None and seen.motion.page_moved is Observed.NO
        for seen in facts.evidence.ranks
    )
