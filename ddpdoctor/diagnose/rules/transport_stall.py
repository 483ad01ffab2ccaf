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
`possible`. If another group of these ranks has an operation that was issued and has not finished, this is not reported
(DD272).

## References
https://github.com/pytorch/pytorch/issues/1637 https://github.com/NVIDIA/nccl/issues/426
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked.met_operations import met
from ddpdoctor.diagnose.codes import TRANSPORT_STALL
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.offline import transport
from ddpdoctor.model.diagnosis import Confidence, Diagnosis


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    found = met(facts)
    # with another group's operation open as well, the ranks' devices may hold each other up (DD272)
    if found is not None and not found.beside:
        yield _diagnosis(facts, found.waits)


def _diagnosis(facts: Facts, waits: tuple[Wait, ...]) -> Diagnosis:
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
