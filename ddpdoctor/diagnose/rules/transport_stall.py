"""# DD271 transport-stall

## What
All ranks are in the same operation, no rank is missing, and the operation does not finish.

## Why it hangs
The ranks agree; the transport of the data fails: a network path, peer-to-peer access between devices, a driver, a
device that dropped out, a bug in the library.

## Example
    all ranks: all_reduce seq 1, same size; works with NCCL_P2P_DISABLE=1

## Fix
Test the transport without the program (nccl-tests, ib_write_bw, iperf), and switch parts of it off one at a time. In
the first operation of a group: the interface (NCCL_SOCKET_IFNAME), InfiniBand or RoCE (NCCL_IB_DISABLE=1), access
between GPUs, which ACS, the IOMMU or virtualisation can break (NCCL_P2P_DISABLE=1), shared memory (NCCL_SHM_DISABLE=1),
NCCL's own features (NCCL_NVLS_ENABLE=0, NCCL_CUMEM_ENABLE=0). In a later operation: first check `dmesg` for an Xid. The
report omits what the evidence excludes: on one machine InfiniBand is not involved, and gloo uses no GPU.

## When it is wrong
A very large operation or a very slow network looks the same for a while; no rank is blamed. On GPUs, a computation on
one of them that never ends looks the same too, and only the GPUs themselves could show it; there the diagnosis is
`possible`.

## References
https://github.com/pytorch/pytorch/issues/1637 https://github.com/NVIDIA/nccl/issues/426
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import TRANSPORT_STALL
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import operations
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.offline import transport
from ddpdoctor.model.collectives import COLLECTIVE
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome is not Outcome.HANG or facts.splits:
        return
    waits = [wait for rank in facts.waiting if (wait := facts.wait(rank))]
    if len(waits) == len(facts.states) and _all_in_one(waits) and _all_seen(facts):
        yield _diagnosis(facts, waits)


def _all_in_one(waits: list[Wait]) -> bool:
    """The same operation at the same place of the same group, entered by all of its members."""
    first = waits[0]
    if first.group is None or first.seq is None or first.kind not in COLLECTIVE:
        return False
    same = {(operations.family(wait.op), wait.group, wait.seq, wait.root) for wait in waits}
    members = RankSet.of(wait.rank for wait in waits) == RankSet.of(first.group.members)
    return len(same) == 1 and members and not any(wait.targets or wait.mismatched for wait in waits)


def _all_seen(facts: Facts) -> bool:
    """Two samples of every rank without progress, and every rank's own recorder."""
    return all(
        seen.recorder is not None and seen.motion is not None and seen.motion.page_moved is Observed.NO
        for seen in facts.evidence.ranks
    )


def _diagnosis(facts: Facts, waits: list[Wait]) -> Diagnosis:
    first = waits[0]
    backends = transport.backends(facts)
    advice = transport.advise(backends, nodes=transport.several_nodes(facts), seq=first.seq)
    return diagnosis(
        TRANSPORT_STALL,
        facts.waiting,
        confidence=Confidence.LIKELY if transport.gloo_only(backends) else Confidence.POSSIBLE,
        blame=Confidence.POSSIBLE,
        summary=f"all ranks are in {wording.waiting(facts, facts.waiting)}, none is missing, and it does not finish",
        why=(
            "Every member of the group has entered the same operation, and nothing changed between two samples. The "
            "ranks agree; the transport of the data fails: the network, access between devices, a driver, a device."
        ),
        fix=f"Test the transport without the program (nccl-tests, iperf). In this order: {advice.numbered()}.",
        locations=facts.locations_of(facts.waiting),
        evidence=(
            f"{len(waits)} of {len(facts.states)} ranks have entered {first.op} seq {first.seq}",
            "no page changed, and no rank is computing",
            *(f"excluded: {what}" for what in advice.excluded),
        ),
    )
