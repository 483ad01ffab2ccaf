"""# DD218 p2p-deadlock

## What
Ranks wait for each other in send and recv: all receive first, or all send first.

## Why it hangs
A recv returns when its sender sends, and the sender is itself in a recv. So around the circle nobody ever sends. With
send first it goes well as long as the messages fit into buffers.

## Example
    dist.recv(halo, src=left)
    dist.send(edge, dst=right)         # nobody comes here

## Fix
Let even ranks send first and odd ones receive first, or use `isend`, or `batch_isend_irecv` for the whole exchange.

## When it is wrong
Only circles that consist of sends and receives alone are told. A receive whose sender waits in a collective can have
any reason; nothing is said then.

## References
https://github.com/NVIDIA/nccl/issues/479 https://github.com/pytorch/pytorch/issues/172668
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.diagnose.standing import wait_label
from ddpdoctor.diagnose.waits import Wait
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import Rank, RankSet

RULE = Rule(
    code="DD218",
    name="p2p-deadlock",
    requires=frozenset({Source.PAGES}),
    excludes=("DD220",),
    fixture="p2p-deadlock",
    specificity=60,
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    circle = _circle(facts)
    if circle:
        yield _diagnosis(facts, circle)


def _circle(facts: Facts) -> tuple[Wait, ...]:
    """Waits of main threads, each for the rank of the next and the last for the first."""
    pairs = {
        rank: wait
        for rank in facts.waiting
        if (wait := facts.wait(rank)) and wait.kind in (Kind.SEND, Kind.RECV) and wait.peer is not None
    }
    for start in sorted(pairs):
        path: list[Rank] = []
        rank: Rank | None = start
        while rank is not None and rank in pairs and rank not in path:
            path.append(rank)
            rank = pairs[rank].peer
        if rank == start:
            return tuple(pairs[member] for member in path)
    return ()


def _diagnosis(facts: Facts, circle: tuple[Wait, ...]) -> Diagnosis:
    members = RankSet.of(wait.rank for wait in circle)
    # Where all stand at one line, the line itself is wrong. Else a rank may have come to its line by another mistake.
    alike = len({(wait.site, wait.kind) for wait in circle}) == 1
    proven = all(rank in facts.graph.stuck for rank in members)
    kind = "receive" if all(wait.kind is Kind.RECV for wait in circle) else "send and receive"
    if all(wait.kind is Kind.SEND for wait in circle):
        kind = "send"
    links = tuple(f"rank {wait.rank} waits in {wait_label(wait)} at {wording.place(wait.site)}" for wait in circle)
    return Diagnosis(
        RULE.code,
        RULE.name,
        Confidence.CERTAIN if alike and proven else Confidence.LIKELY,
        Confidence.POSSIBLE,
        RankSet(),
        facts.waiting,
        f"{wording.ranks(members)} {kind} in a circle: {'; '.join(links[:3])}{' ...' if len(links) > 3 else ''}",
        "Each waits for the next one's send or recv, which comes only after its own returns.",
        "Let one rank of each pair send first and the other receive first, or use isend or batch_isend_irecv.",
        facts.standing_locations(members),
        links,
    )
