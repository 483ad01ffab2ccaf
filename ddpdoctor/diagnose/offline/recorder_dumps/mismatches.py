"""Mismatches: all ranks have reached one number of a group, with operations or tensors that do not match."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.diagnose import codes
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import operations
from ddpdoctor.diagnose.offline.recorder_dumps.pending_operations import JobState, PendingOp
from ddpdoctor.diagnose.offline.recorder_dumps.wording import a_few, full, label, locations, numel, ranks, verb
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.recorder_set import Step
from ddpdoctor.model.stacks import Site

_PARTED = (
    " This does not show why they diverged: a loop that was left earlier (DD201, DD206), a branch that only some "
    "ranks took (DD203), a step that one rank skipped (DD207, DD208) look the same here."
)
#: most lines between two calls of which one can be meant for the other
_NEAR = 3


def mismatch(job: JobState, pending: PendingOp, sides: Sequence[tuple[RankSet, Step]]) -> Diagnosis:
    """The diagnosis if all ranks reached the same number of the group, with operations or tensors that do not match."""
    usual, odd = sides[0], sides[1:]
    tie = len(odd[0][0]) == len(usual[0])
    culprits = RankSet() if tie else RankSet.of(rank for members, _ in odd for rank in members)
    families = {operations.family(step.op) for _, step in sides}
    numels = {numel(step) for _, step in sides}
    rule = (
        codes.COLLECTIVE_ORDER_MISMATCH
        if len(families) > 1
        else codes.SHAPE_MISMATCH
        if len(numels) > 1
        else codes.DTYPE_MISMATCH
    )
    told = [f"{ranks(members)} {verb(members, 'issues', 'issue')} {full(step)}" for members, step in sides[::-1]]
    where = f"number {pending.step.seq} of {label(job, pending)}"
    near = _side_by_side([step.site for _, step in sides])
    return diagnosis(
        rule,
        job.waiting - culprits,
        confidence=Confidence.LIKELY if near else Confidence.POSSIBLE,
        blame=Confidence.POSSIBLE if tie else Confidence.LIKELY,
        culprits=culprits,
        summary=f"at {where} {', '.join(a_few(told))}",
        why=(
            "Collectives of a group are paired by number alone, and nothing checks that they match: operations that "
            f"differ in kind or size wait for partners and data that do not arrive.{'' if near else _PARTED}"
        ),
        fix="Issue the same operations in one order on every rank, with tensors of one size and type.",
        locations=locations(((members, step.site) for members, step in (*odd, usual)), job, RankSet()),
        evidence=tuple(a_few(told)),
    )


def _side_by_side(sites: Sequence[Site | None]) -> bool:
    """Whether all calls are close together: the difference is made there, and no rank is in another part of the
    program.

    A rank that left a loop early pairs the others' next operation with one from after the loop; so do ranks whose data
    end at different times. Then the mismatch is only a consequence.
    """
    known = [site for site in sites if site is not None]
    if len(known) < len(sites) or len({(site.file, site.function) for site in known}) > 1:
        return False
    return max(site.line for site in known) - min(site.line for site in known) <= _NEAR
