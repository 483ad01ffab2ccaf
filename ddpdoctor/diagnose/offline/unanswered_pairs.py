"""Ranks that all receive, or all send, seen from stacks and logs alone: no rank is on the other side. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import codes, wording
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet

_OPERATIONS = {"recv": ("receive", "sends"), "send": ("send", "receives")}
_MOST_PLACES = 3


def unanswered(facts: Facts) -> Iterator[Diagnosis]:
    """One diagnosis if every observed rank waits, and those in a send or a recv are all on the same side.

    A stack does not show the peer. But a receiver waits for a sender, and no observed rank sends.
    """
    ops = {rank: wait.op for rank in facts.waiting if (wait := facts.wait(rank))}
    inside = RankSet.of(rank for rank, op in ops.items() if op in _OPERATIONS)
    if any((wait := facts.wait(rank)) and wait.peer is not None for rank in inside):
        return  # who waits for whom is known, and judged as such
    kinds = {ops[rank] for rank in inside}
    if len(inside) < 2 or len(kinds) != 1 or facts.blockers - facts.doing(Activity.UNSEEN):
        return
    whole = facts.evidence.size_known and not facts.evidence.unseen() and len(inside) == len(facts.states)
    kind, other = _OPERATIONS[next(iter(kinds))]
    places = dict.fromkeys(wording.place(site) for rank in inside if (site := facts.state(rank).site))
    where = f" at {' and '.join(list(places)[:_MOST_PLACES])}" if places else ""
    rest = facts.waiting - inside
    yield diagnosis(
        codes.P2P_DEADLOCK,
        facts.waiting,
        confidence=Confidence.LIKELY if whole else Confidence.POSSIBLE,
        blame=Confidence.POSSIBLE,
        summary=f"{wording.ranks(inside)} {kind}{where}, and no rank that is seen {other}",
        why=(
            f"A {next(iter(kinds))} returns when its partner arrives, and every rank that is seen is itself "
            f"waiting{': ' + wording.ranks(rest) + ' elsewhere' if rest else ''}. A stack does not show for which "
            "rank each waits."
        ),
        fix="Let one rank of each pair send first and the other receive first, or use isend or batch_isend_irecv.",
        locations=(*facts.locations_of(inside), *facts.locations_of(rest)),
        evidence=tuple(f"rank {rank}: {facts.state(rank).label}" for rank in list(inside)[:8]),
    )
