"""Pure. What several nodes saw of one job, as one Evidence.

Clocks of two nodes have nothing in common, and no order of what happened on them is claimed but that of its age when it
was looked at: all look at about the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture
from ddpdoctor.meeting.clocks import shifted
from ddpdoctor.meeting.messages import Absent
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source
from ddpdoctor.model.ranks import Rank


def join(seen: Mapping[Rank, tuple[Capture, str]], here: Rank, absent: Iterable[Absent] = ()) -> Evidence:
    """One Evidence of what nodes saw, each with its host, on the clock of the node `here`. Raises ValueError if that
    one saw nothing."""
    parts = {node: assemble(capture) for node, (capture, _) in sorted(seen.items()) if capture.samples}
    if here not in parts:
        raise ValueError("nothing was seen by the node that judges")
    reference = parts[here]
    collected = reference.timing.collected
    parts = {node: shifted(part, collected - part.timing.collected) for node, part in parts.items()}
    return replace(
        _merged(reference, tuple(parts.values()), absent),
        hosts={one.rank: seen[node][1] for node, part in parts.items() for one in part.ranks},
    )


def _merged(reference: Evidence, parts: Sequence[Evidence], absent: Iterable[Absent]) -> Evidence:
    """The reference with the ranks of all parts, which are on its clock."""
    return replace(
        reference,
        world_size=max(part.world_size for part in parts),
        ranks=_ranks(parts),
        timing=replace(reference.timing, last_progress=max(part.timing.last_progress for part in parts)),
        gaps=(*_gaps(parts), *gaps_of(absent)),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        memory_kills=sum(part.memory_kills for part in parts),
    )


def _ranks(parts: Sequence[Evidence]) -> tuple[RankEvidence, ...]:
    """Every rank once, in order."""
    found = {seen.rank: seen for part in reversed(parts) for seen in part.ranks}
    return tuple(found[rank] for rank in sorted(found))


def _gaps(parts: Sequence[Evidence]) -> Iterable[Gap]:
    return dict.fromkeys(gap for part in parts for gap in part.gaps)


def gaps_of(absent: Iterable[Absent]) -> tuple[Gap, ...]:
    """One gap for every node that is not there."""
    return tuple(Gap(Source.NODES, None, str(one)) for one in absent)
