"""# DD262 rendezvous-unreachable

## What
No process completes the rendezvous: each waits at its own address, or cannot reach the common one.

## Why it hangs
The ranks meet at one store, at MASTER_ADDR and MASTER_PORT. If the address or port differs between ranks, or a firewall
or the wrong network interface lies between them, rank 0 waits for clients and the clients retry again and again.

## Example
    port = find_free_port()                    # another one in every process
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)

## Fix
Let the launcher set the address (omit `init_method`, use `--rdzv-endpoint`). Open the port between the nodes. Set
GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME to the interface that the nodes share.

## When it is wrong
A rank that has not reached the rendezvous yet is DD261, and then this is not reported. A program that makes its store
itself is at the rendezvous in the line of `TCPStore(...)`. One machine cannot show whether the address, the port or the
network is wrong, so it is at most `likely`, and `possible` if only a single rank reports it.

## References
https://github.com/pytorch/pytorch/issues/52848 https://github.com/pytorch/pytorch/issues/100167
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import RENDEZVOUS_UNREACHABLE
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rendezvous import makes_store
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome not in (Outcome.HANG, Outcome.SLOW):
        return
    meeting = RankSet.of(rank.rank for rank in facts.evidence.ranks if makes_store(facts.program, rank))
    seen = RankSet.of(rank.rank for rank in facts.evidence.ranks if rank.exit is None)
    if meeting and meeting == seen and len(seen) == len(facts.evidence.ranks):
        yield _diagnosis(facts, meeting)


def _diagnosis(facts: Facts, meeting: RankSet) -> Diagnosis:
    whole = len(meeting) == facts.evidence.world_size and len(meeting) > 1
    nowhere = [
        f"rank {rank.rank}: {descriptor.target}"
        for rank in facts.evidence.ranks
        if rank.process
        for descriptor in rank.process.descriptors
        if descriptor.kind == "socket" and "SYN_SENT" in descriptor.target
    ]
    who = wording.ranks(meeting)
    return diagnosis(
        RENDEZVOUS_UNREACHABLE,
        meeting,
        confidence=Confidence.LIKELY if whole else Confidence.POSSIBLE,
        blame=Confidence.POSSIBLE,
        summary=f"{who} {wording.verb(meeting, 'waits', 'wait')} at the rendezvous, and no connection is made",
        why=(
            f"{'All' if whole else 'The'} ranks that are seen have reached the rendezvous, so none is missing; but no "
            "connection to the store exists. Their addresses or ports differ, or are not reachable."
        ),
        fix=(
            "Compare MASTER_ADDR and MASTER_PORT, or the init_method, of all ranks; they must be the same, and "
            "reachable from every node. If nodes have several networks, set GLOO_SOCKET_IFNAME or "
            "NCCL_SOCKET_IFNAME."
        ),
        locations=facts.locations_of(meeting),
        evidence=(f"{who}: making the store of the rendezvous", *nowhere),
    )
