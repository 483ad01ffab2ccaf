"""Pure. Limits the number of ranks that the rules compare: all unusual ranks are kept, and a sample of the similar
ones."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source

#: ranks that the rules compare with each other; the cost is quadratic in it
MOST_RANKS = 512


def downsample(evidence: Evidence, most: int = MOST_RANKS) -> Evidence:
    """At most so many ranks, some of every behaviour and the rare behaviours whole; a gap states that ranks were left
    out."""
    if len(evidence.ranks) <= most:
        return evidence
    alike: dict[object, list[RankEvidence]] = {}
    for seen in evidence.ranks:
        alike.setdefault(_behaviour(seen), []).append(seen)
    kept: list[RankEvidence] = []
    for left, ranks in zip(range(len(alike), 0, -1), sorted(alike.values(), key=len), strict=True):
        kept.extend(ranks[: max(1, (most - len(kept)) // left)])
    kept = sorted(kept[:most], key=lambda seen: seen.rank)
    reason = (
        f"{len(evidence.ranks)} ranks with {len(alike)} behaviours; {len(kept)} are compared, rare behaviours first"
    )
    return replace(evidence, ranks=tuple(kept), gaps=(*evidence.gaps, Gap(Source.FILES, None, reason)))


def _behaviour(seen: RankEvidence) -> object:
    """What distinguishes a rank from others: its stack, its last operations, what it logged, how it ended."""
    main = seen.stacks.main() if seen.stacks else None
    return (
        main.frames if main else None,
        seen.reported,
        tuple((entry.group, entry.seq, entry.op) for entry in seen.recorder.entries[-4:]) if seen.recorder else None,
        seen.exit.status if seen.exit else None,
        (seen.raised.type, seen.raised.frames) if seen.raised else None,
    )
