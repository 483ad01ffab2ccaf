"""Pure. Evidence from several sources -> one Evidence: bundles of several nodes, and loose files beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from ddpdoctor.archive.text_reader import stacks_of
from ddpdoctor.diagnose.digest.failure import ABORTED, is_peer_loss
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank

#: statuses of processes that their launcher ended, or that lost a peer
_OF_A_LOSS = frozenset({1, -2, -15, ABORTED})


def merge(parts: Sequence[Evidence]) -> Evidence:
    """One Evidence of several; where two parts describe the same rank, the earlier part wins. `parts` is not empty.

    Clocks of different machines are not comparable: the timing of the first part is kept.
    """
    parts = _at_one_moment(parts)
    first = parts[0]
    return replace(
        first,
        world_size=max(part.world_size for part in parts),
        ranks_unidentified=all(part.ranks_unidentified for part in parts),
        size_known=any(part.size_known for part in parts),
        ranks=_ranks(parts),
        gaps=tuple(dict.fromkeys(gap for part in parts for gap in part.gaps)),
        code={path: source for part in reversed(parts) for path, source in part.code.items()},
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _ranks(parts: Sequence[Evidence]) -> tuple[RankEvidence, ...]:
    """Every rank once, in order."""
    ranks: dict[Rank, RankEvidence] = {}
    for part in parts:
        for seen in part.ranks:
            ranks[seen.rank] = _completed(ranks[seen.rank], seen) if seen.rank in ranks else seen
    return tuple(ranks[rank] for rank in sorted(ranks))


def _at_one_moment(parts: Sequence[Evidence]) -> Sequence[Evidence]:
    """Undo what happened to ranks that were captured later than others.

    One node may be captured while all ranks wait, and another only after the first was stopped. A rank that has lost
    its peers or was ended by then is shown in the call in which it waited, unless it failed for a reason of its own.
    """
    calm = [part for part in parts if part.ranks and not any(map(_has_ended, part.ranks))]
    if not calm or len(calm) == len(parts) or any(_failed_by_itself(seen) for part in parts for seen in part.ranks):
        return parts
    note = "captures of several moments: ranks that lost their peers later are shown where they waited before"
    return [
        part
        if part in calm
        else replace(part, ranks=tuple(_before_its_end(seen) for seen in part.ranks), notes=(*part.notes, note))
        for part in parts
    ]


def _raised(seen: RankEvidence) -> Raised | None:
    ending = seen.page.ending if seen.page else None
    return (ending.raised if ending else None) or seen.raised


def _has_ended(seen: RankEvidence) -> bool:
    return seen.exit is not None or _raised(seen) is not None


def _failed_by_itself(seen: RankEvidence) -> bool:
    raised = _raised(seen)
    if raised is not None:
        return not is_peer_loss(raised)
    return seen.exit is not None and seen.exit.status not in _OF_A_LOSS


def _before_its_end(seen: RankEvidence) -> RankEvidence:
    raised = _raised(seen)
    if not _has_ended(seen):
        return seen
    page = replace(seen.page, ending=None) if seen.page else None
    stacks = stacks_of(raised) if raised is not None and raised.frames else seen.stacks
    return replace(seen, page=page, stacks=stacks, exit=None, raised=None, motion=None, process=None)


def _completed(known: RankEvidence, other: RankEvidence) -> RankEvidence:
    """`known`, completed from `other`; times of exits and exceptions are left out, as they are of another clock."""
    timed = {"exit", "raised"}
    missing = {
        field.name: getattr(other, field.name)
        for field in fields(known)
        if field.name not in timed and not getattr(known, field.name) and getattr(other, field.name)
    }
    return replace(known, **missing) if missing else known
