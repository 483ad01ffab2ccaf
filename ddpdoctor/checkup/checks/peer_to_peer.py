"""# DD317 peer-to-peer-not-translated

## What
No I/O memory management unit stands between the GPUs of this node.

## Why it matters
With an IOMMU, or PCIe's access control services (ACS), traffic between GPUs is sent through the root complex: it is
slow, and on some machines NCCL hangs in its first collective.

## Fix
If the first collective hangs, try `NCCL_P2P_DISABLE=1`; if that helps, turn the IOMMU or ACS off in the BIOS.

## When it is wrong
GPUs that are connected by NVLink do not use PCIe; virtual machines need the IOMMU. So this is a note.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#pci-access-control-services-acs
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, note, ok, unknown
from ddpdoctor.checkup.machine import Machine

CHECK = Check("DD317", "peer-to-peer-not-translated")


def judge(machine: Machine) -> Judgement:
    if machine.gpus < 2 or machine.iommu is None:
        return unknown("fewer than two GPUs, or no facts on the IOMMU: not applicable")
    if machine.iommu and machine.environ.get("NCCL_P2P_DISABLE") != "1":
        return note(
            "an IOMMU is on: if the first collective hangs, try without peer-to-peer", "export NCCL_P2P_DISABLE=1"
        )
    return ok("no IOMMU stands between the GPUs")
