"""# DD308 versions-known-to-work

## What
The versions of torch, NCCL and the NVIDIA driver are not known to hang or fail together: the driver is new enough for
the CUDA that torch was built with, NCCL is the one that torch asks for, and no version has a known hang. With `--meet`:
all nodes have the same torch and the same NCCL.

## Why it matters
These faults look like faults of the program: a collective never ends on all ranks.

## Fix
The check names the version to install.

## When it is wrong
A driver with NVIDIA's forward-compatibility package (`cuda-compat`) may be older. Distributors may have mended a
version. The table has only what its maintainers have said; the reference stands beside each row.

## References
https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
https://github.com/pytorch/pytorch/pull/174338 https://github.com/pytorch/pytorch/issues/149153
https://github.com/NVIDIA/nccl/issues/992 https://github.com/pytorch/pytorch/pull/97843
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, State, ok, problem, unknown, warning
from ddpdoctor.checkup.known_bad_versions import BAD_NCCL, DRIVERS
from ddpdoctor.checkup.machine import Machine

#: characters of a list of nodes
_LONGEST = 300

CHECK = Check("DD308", "versions-known-to-work")


def judge(machine: Machine) -> Judgement:
    """What is wrong with this node's versions, or else how the nodes' versions differ."""
    own = _own(machine)
    unlike = _unlike(machine) if own.state in (State.OK, State.UNKNOWN) else None
    return unlike or own


def _unlike(machine: Machine) -> Judgement | None:
    peers = machine.meeting.peers if machine.meeting else ()
    for what, versions in (("torch", [p.torch for p in peers]), ("NCCL", [p.nccl for p in peers])):
        if len(set(versions)) > 1:
            listed = ", ".join(
                f"{peer.host}: {version or 'none'}" for peer, version in zip(peers, versions, strict=True)
            )
            return warning(
                f"the nodes differ in {what}: {_cut(listed)}",
                "python -m pip list 2>/dev/null | grep -E '^(torch|nvidia-nccl)'",
            )
    return None


def _cut(listed: str) -> str:
    return listed if len(listed) <= _LONGEST else f"{listed[:_LONGEST]}..."


def _own(machine: Machine) -> Judgement:
    torch = machine.torch
    if torch is None:
        return unknown("no torch was found")
    if not torch.cuda:
        return ok("torch is built without CUDA: no driver and no NCCL are needed")
    major = torch.cuda.partition(".")[0]
    needed = DRIVERS.get(int(major))
    if machine.driver and needed and _numbers(machine.driver)[:1] < (needed,):
        said = f"driver {machine.driver} is too old for CUDA {torch.cuda} of torch {torch.version}: it needs {needed}"
        return problem(said, f"install an NVIDIA driver of version {needed} or newer, or torch for an older CUDA")
    for row in BAD_NCCL:
        if torch.nccl and row.first <= _numbers(torch.nccl) <= row.last and row.applies(machine.environ):
            return warning(f"NCCL {torch.nccl}: {row.what} ({row.reference})", row.remedy.format(cuda=major))
    if torch.nccl and torch.nccl_wanted and torch.nccl != torch.nccl_wanted:
        said = f"NCCL {torch.nccl} is installed, and torch {torch.version} asks for {torch.nccl_wanted}"
        return warning(said, f"pip install nvidia-nccl-cu{major}=={torch.nccl_wanted}")
    return ok(
        f"torch {torch.version}, CUDA {torch.cuda}, NCCL {torch.nccl or 'of torch'}, driver {machine.driver or 'none'}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
