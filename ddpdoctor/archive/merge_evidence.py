"""Pure. Several looks at one job -> one Evidence: bundles of several nodes, and loose files beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from ddpdoctor.archive.text_reader import stacks_of
from ddpdoctor.diagnose.digest.failure import ABORTED, is_peer_loss
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank

#: what launchers, and peers that are gone, end a process with
_OF_A_LOSS = frozenset({1, -2, -15, ABORTED})


def merge(parts: Sequence[Evidence]) -> Evidence:
    """One Evidence; where two parts know the same of a rank, the earlier part is believed. `parts` is not empty.

    Clocks of different machines are not comparable: the first part's is kept.
    """
    parts = _of_one_moment(parts)
    ranks: dict[Rank, RankEvidence] = {}
    for part in parts:
        for seen in part.ranks:
            ranks[seen.rank] = _filled(ranks[seen.rank], seen) if seen.rank in ranks else seen
    first = parts[0]
    return replace(
        first,
        world_size=max(part.world_size for part in parts),
        ranks_unidentified=all(part.ranks_unidentified for part in parts),
        size_known=any(part.size_known for part in parts),
        ranks=tuple(ranks[rank] for rank in sorted(ranks)),
        gaps=tuple(dict.fromkeys(gap for part in parts for gap in part.gaps)),
        code={path: source for part in reversed(parts) for path, source in part.code.items()},
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _of_one_moment(parts: Sequence[Evidence]) -> Sequence[Evidence]:
    """A node may be looked at while all wait, and another only after the first was stopped.

    Who then lost its peers, or was ended, stood in its call at the first look; unless it has a reason of its own.
    """
    calm = [part for part in parts if part.ranks and not any(map(_over, part.ranks))]
    if not calm or len(calm) == len(parts) or any(_own_reason(seen) for part in parts for seen in part.ranks):
        return parts
    note = "looks of several moments: who lost its peers later is shown where it stood before"
    return [
        part
        if part in calm
        else replace(part, ranks=tuple(_as_it_stood(seen) for seen in part.ranks), notes=(*part.notes, note))
        for part in parts
    ]


def _raised(seen: RankEvidence) -> Raised | None:
    ending = seen.page.ending if seen.page else None
    return (ending.raised if ending else None) or seen.raised


def _over(seen: RankEvidence) -> bool:
    return seen.exit is not None or _raised(seen) is not None


def _own_reason(seen: RankEvidence) -> bool:
    raised = _raised(seen)
    if raised is not None:
        return not is_peer_loss(raised)
    return seen.exit is not None and seen.exit.status not in _OF_A_LOSS


def _as_it_stood(seen: RankEvidence) -> RankEvidence:
    raised = _raised(seen)
    if not _over(seen):
        return seen
    page = replace(seen.page, ending=None) if seen.page else None
    stacks = stacks_of(raised) if raised is not None and raised.frames else seen.stacks
    return replace(seen, page=page, stacks=stacks, exit=None, raised=None, motion=None, process=None)


def _filled(known: RankEvidence, other: RankEvidence) -> RankEvidence:
    """What is not known of a rank, from the other; times of exits and exceptions are of another clock and stay out."""
    timed = {"exit", "raised"}
    missing = {
        field.name: getattr(other, field.name)
        for field in fields(known)
        if field.name not in timed and not getattr(known, field.name) and getattr(other, field.name)
    }
    return replace(known, **missing) if missing else known
