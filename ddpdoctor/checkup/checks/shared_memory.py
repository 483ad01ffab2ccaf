"""# DD304 shared-memory-large-enough

## What
/dev/shm has room for NCCL's segments and for the batches that DataLoader workers hand over.

## Why it matters
Docker gives a container 64 MiB by default. A full /dev/shm kills workers with a bus error, and NCCL fails or hangs as it
sets up communication between the GPUs of a node.

## Fix
Docker: `--shm-size=16g` or `--ipc=host`. Kubernetes: an `emptyDir` with `medium: Memory` at /dev/shm.

## When it is wrong
A job with one rank, without DataLoader workers, needs none of it.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown, warning
from ddpdoctor.checkup.machine import Machine

_MIB = 1 << 20
#: NCCL takes about 10 MiB for each pair of ranks on a node; a worker needs a few batches
_LEAST, _ENOUGH, _DOCKER = 16 * _MIB, 256 * _MIB, 64 * _MIB
REMEDIES = {
    "docker": "docker run --shm-size=16g ...",
    "kubernetes": "volumes: [{name: shm, emptyDir: {medium: Memory}}]  # mounted at /dev/shm",
}

CHECK = Check("DD304", "shared-memory-large-enough")


def judge(machine: Machine) -> Judgement:
    space = machine.shared_memory
    if space is None:
        return unknown("/dev/shm cannot be asked")
    said = f"/dev/shm has {space.free / _MIB:,.0f} MiB free of {space.total / _MIB:,.0f} MiB"
    remedy = REMEDIES.get(machine.container, "sudo mount -o remount,size=50% /dev/shm")
    if space.free < _LEAST:
        return problem(said, "ls -lS /dev/shm | head", remedy)
    if space.free < _ENOUGH or space.total <= _DOCKER:
        return warning(said, remedy)
    return ok(said)
