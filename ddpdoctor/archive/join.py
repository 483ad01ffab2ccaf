"""Pure. Several looks at one job -> one Evidence: bundles of several nodes, and loose files beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.ranks import Rank


def join(parts: Sequence[Evidence]) -> Evidence:
    """One Evidence; where two parts know the same of a rank, the earlier part is believed. `parts` is not empty.

    Clocks of different machines are not comparable: the first part's is kept.
    """
    ranks: dict[Rank, RankEvidence] = {}
    for part in parts:
        for seen in part.ranks:
            ranks[seen.rank] = _filled(ranks[seen.rank], seen) if seen.rank in ranks else seen
    first = parts[0]
    return replace(
        first,
        world_size=max(part.world_size for part in parts),
        unnamed=all(part.unnamed for part in parts),
        size_told=any(part.size_told for part in parts),
        ranks=tuple(ranks[rank] for rank in sorted(ranks)),
        gaps=tuple(dict.fromkeys(gap for part in parts for gap in part.gaps)),
        code={path: source for part in reversed(parts) for path, source in part.code.items()},
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _filled(known: RankEvidence, other: RankEvidence) -> RankEvidence:
    """What is not known of a rank, from the other; times of exits and exceptions are of another clock and stay out."""
    timed = {"exit", "raised"}
    missing = {
        field.name: getattr(other, field.name)
        for field in fields(known)
        if field.name not in timed and not getattr(known, field.name) and getattr(other, field.name)
    }
    return replace(known, **missing) if missing else known
