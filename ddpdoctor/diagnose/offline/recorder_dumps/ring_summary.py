"""Summary of one ring: how far it got in each of its groups, and which operation it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ddpdoctor.model.recorder_set import Ring, Step


@dataclass(frozen=True, slots=True)
class Front:
    """How far a ring got in one group, in collectives."""

    first: Step
    last: Step


@dataclass(frozen=True, slots=True)
class RingSummary:
    """The parts of one ring that the analysis needs."""

    fronts: Mapping[int, Front]
    #: the oldest unfinished operation (a batch of sends and receives counts as one); empty if all are finished
    head: tuple[Step, ...]

    @property
    def open(self) -> Step | None:
        return self.head[0] if self.head else None


def summarise(ring: Ring) -> RingSummary:
    """Summarise one ring.

    The rank is in the oldest unfinished operation: on a device later ones queue behind it, also those of other groups
    as soon as one stream waits for the other, and on the CPU its caller waits for it first.
    """
    firsts: dict[int, Step] = {}
    lasts: dict[int, Step] = {}
    head: list[Step] = []
    for step in ring.steps:
        if not step.p2p:
            firsts.setdefault(step.role, step)
            lasts[step.role] = step
        if step.finished:
            continue
        if not head or (step.p2p and head[0].p2p and (step.role, step.seq) == (head[0].role, head[0].seq)):
            head.append(step)
    fronts = {role: Front(firsts[role], last) for role, last in lasts.items()}
    pairs = tuple(step for step in head if step.peer is not None)
    return RingSummary(fronts, pairs or tuple(head[:1]))
