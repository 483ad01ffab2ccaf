"""# DD273 communicator-not-made

## What
Ranks are inside NCCL's making of a communicator (`ncclCommInit...` in their native stacks), all members of the group
have arrived, and none of its operations has ever finished. Not reproduced here: needs GPUs. The diagnosis is tested on
constructed evidence, and is `possible` at most.

## Why it hangs
A process group on NCCL connects its ranks in its first operation. For that the ranks exchange addresses through the
store, connect by sockets on an interface that NCCL chooses, and set up access between devices. An interface that does
not reach the other hosts, a firewall, a wrong device or a driver that does not answer leaves them there.

## Example
    dist.init_process_group("nccl")
    dist.barrier()                           # NCCL chose docker0, which reaches no other host

## Fix
Run with NCCL_DEBUG=INFO and read the last line of each rank: the interface (NCCL_SOCKET_IFNAME), InfiniBand
(NCCL_IB_DISABLE=1), access between GPUs (NCCL_P2P_DISABLE=1), shared memory (NCCL_SHM_DISABLE=1). Make sure that each
rank has a device of its own.

## When it is wrong
Making a communicator of very many ranks takes minutes. Native frames are seen only with `--native`; without them this
is not reported. If a member has not arrived, that is the cause, and this is not reported.

## References
https://github.com/NVIDIA/nccl/issues/2379 https://github.com/pytorch/pytorch/issues/88103
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import COMMUNICATOR_NOT_MADE
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.collectives import COLLECTIVE
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.ranks import Group, Rank, RankSet

#: NCCL's and RCCL's functions that make a communicator begin so; a C++ frame may carry a namespace before it
_MAKES = "ncclCommInit"


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome is not Outcome.HANG or facts.splits:
        return
    inside = {seen.rank: frame for seen in facts.evidence.ranks if (frame := _makes(seen))}
    entered: dict[Group, list[Rank]] = {}
    for rank in inside:
        for group in _entered(facts, rank):
            entered.setdefault(group, []).append(rank)
    for group, ranks in entered.items():
        makers = RankSet.of(ranks)
        if all(group in _entered(facts, rank) for rank in group.members) and not _used(facts, group):
            yield _diagnosis(facts, group, makers, tuple(f"rank {rank}: {inside[rank]}" for rank in makers))


def _entered(facts: Facts, rank: Rank) -> tuple[Group, ...]:
    """Groups in which a call of the rank is in flight, by its page: native frames hide the wait from its stack."""
    seen = facts.evidence.rank(rank)
    calls = seen.page.calls if seen and seen.page and seen.exit is None else ()
    return tuple(call.group for call in calls if call.group and call.kind in COLLECTIVE)


def _makes(seen: RankEvidence) -> str:
    """The native function in which a thread of the rank makes a communicator, "" if there is none."""
    threads = seen.stacks.threads if seen.stacks and seen.exit is None else ()
    found = (frame.function for thread in threads for frame in thread.frames)
    return next((name for name in found if name.rpartition("::")[2].startswith(_MAKES)), "")


def _used(facts: Facts, group: Group) -> bool:
    """Whether an operation of the group has finished on some rank, or may have: its recorder has lost the beginning."""
    recorders = [seen.recorder for seen in facts.evidence.ranks if seen.recorder and seen.rank in group.members]
    return not recorders or any(
        recorder.truncated
        or any(one.group == group.name and (one.retired or one.state == "completed") for one in recorder.entries)
        for recorder in recorders
    )


def _diagnosis(facts: Facts, group: Group, makers: RankSet, evidence: tuple[str, ...]) -> Diagnosis:
    label = group.label(facts.evidence.world_size)
    return diagnosis(
        COMMUNICATOR_NOT_MADE,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        summary=f"{wording.ranks(makers)} {wording.verb(makers, 'makes', 'make')} the communicator of {label}, and it "
        "does not come about",
        why=(
            "Every member has arrived at the group's first operation, which connects the ranks, and none of its "
            "operations has ever finished: a network interface, a firewall, a device or a driver is in the way."
        ),
        fix=(
            "Run with NCCL_DEBUG=INFO and read the last line of each rank. Try one at a time: "
            "`NCCL_SOCKET_IFNAME=<interface>`, `NCCL_IB_DISABLE=1`, `NCCL_P2P_DISABLE=1`, `NCCL_SHM_DISABLE=1`."
        ),
        locations=facts.locations_of(makers),
        evidence=evidence,
    )
