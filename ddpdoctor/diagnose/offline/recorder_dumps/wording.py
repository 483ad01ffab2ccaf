"""Names of operations, groups and places, so that the same fact always has the same wording."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from ddpdoctor.diagnose.offline.recorder_dumps.pending_operations import JobState, PendingOp
from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.recorder_set import Step
from ddpdoctor.model.stacks import Site

#: most lines of evidence, and sides of a mismatch, that are shown
_FEW = 8
#: most runs of ranks in a sentence
_MOST_RUNS = 6


def ranks(members: RankSet) -> str:
    """`rank 1`, `ranks 0,2-3`; for very scattered ranks the first ones and how many."""
    text = str(members)
    runs = text.split(",")
    if len(runs) > _MOST_RUNS:
        text = f"{','.join(runs[:_MOST_RUNS])},... ({len(members)} in all)"
    return f"rank{'s' if len(members) != 1 else ''} {text}"


def verb(members: RankSet, one: str, many: str) -> str:
    return one if len(members) == 1 else many


def issued(step: Step) -> str:
    """`all_reduce at train.py:88`; without the place if the dump has no frames, and without a name for some logs."""
    op = step.op or "an operation"
    return f"{op} at {_place(step.site)}" if step.site else op


def numel(step: Step) -> int:
    return sum(math.prod(shape) for shape in step.sizes)


def full(step: Step) -> str:
    count = numel(step)
    elements = f"{count} element{'' if count == 1 else 's'}"
    return f"{issued(step)} with {elements}{' of ' + step.dtypes[0] if step.dtypes else ''}"


def places(steps: Sequence[Step]) -> str:
    named = dict.fromkeys(_place(step.site) for step in steps if step.site)
    return " and ".join(named) or "the operation"


def _place(site: Site) -> str:
    return f"{PurePath(site.file).name}:{site.line}"


def label(job: JobState, pending: PendingOp) -> str:
    """The group's name for the report, with at most a few runs of its members."""
    group = pending.group
    whole = group.label(job.recorders.world_size)
    if whole == "the default group":
        return whole
    named = group.description if group.description not in ("", "undefined") else group.name
    return f"group '{named}' of {ranks(RankSet.of(group.members))}"


def a_few(lines: Iterable[str]) -> list[str]:
    """The first lines, and how many more there are."""
    every = list(lines)
    return every if len(every) <= _FEW else [*every[: _FEW - 1], f"and {len(every) - _FEW + 1} more"]


def locations(given: Iterable[tuple[RankSet, Site | None]], job: JobState, also: RankSet) -> tuple[Location, ...]:
    """One location for each place, in the order given; then the positions of the ranks in `also`."""
    found: dict[Site, list[int]] = {}
    for members, site in given:
        if site is not None:
            found.setdefault(site, []).extend(members)
    for rank in also:
        standing = job.place[rank].steps[rank].site if rank in job.place else None
        if standing is not None:
            found.setdefault(standing, []).append(rank)
    return tuple(
        Location(RankSet.of(members), site.file, site.line, site.function)
        for site, members in list(found.items())[:_FEW]
    )
