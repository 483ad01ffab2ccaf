"""Pure. More ranks than the rules can compare one by one: all that stand out are kept, and some of the many alike."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source

#: ranks that the rules compare with each other; what they cost grows with the square of it
MOST_RANKS = 512


def downsample(evidence: Evidence) -> Evidence:
    """At most so many ranks: of every behaviour some, the rare ones whole; a gap says that it was done."""
    if len(evidence.ranks) <= MOST_RANKS:
        return evidence
    alike: dict[object, list[RankEvidence]] = {}
    for seen in evidence.ranks:
        alike.setdefault(_behaviour(seen), []).append(seen)
    kept: list[RankEvidence] = []
    for left, ranks in zip(range(len(alike), 0, -1), sorted(alike.values(), key=len), strict=True):
        kept.extend(ranks[: max(1, (MOST_RANKS - len(kept)) // left)])
    kept = sorted(kept[:MOST_RANKS], key=lambda seen: seen.rank)
    reason = f"{len(evidence.ranks)} ranks in {len(alike)} places; {len(kept)} are compared, the rare ones first"
    return replace(evidence, ranks=tuple(kept), gaps=(*evidence.gaps, Gap(Source.FILES, None, reason)))


def _behaviour(seen: RankEvidence) -> object:
    """What makes a rank another case than the next: where it stands, what it said, how it ended."""
    main = seen.stacks.main() if seen.stacks else None
    return (
        main.frames if main else None,
        seen.reported,
        tuple((entry.group, entry.seq, entry.op) for entry in seen.recorder.entries[-4:]) if seen.recorder else None,
        seen.exit.status if seen.exit else None,
        (seen.raised.type, seen.raised.frames) if seen.raised else None,
    )
