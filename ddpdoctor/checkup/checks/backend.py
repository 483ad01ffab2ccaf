"""# DD310 gpu-for-each-rank

## What
torch can use the GPUs of this node, and there is one for each rank that the command starts on it.

## Why it matters
With more ranks than GPUs, NCCL refuses two ranks on one GPU, or hangs as it sets up. A build of torch without CUDA
leaves the GPUs unused, and scripts that fall back to gloo without a word are slow.

## Fix
Start as many ranks as there are GPUs, or install torch for CUDA.

## When it is wrong
A job that is meant for the CPU, or for gloo, needs no GPU; GPUs of other makers are not counted.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, unknown, warning
from ddpdoctor.checkup.machine import Machine

CHECK = Check("DD310", "gpu-for-each-rank")


def judge(machine: Machine) -> Judgement:
    ranks = machine.launch.ranks_per_node
    if not machine.gpus:
        return unknown("no NVIDIA GPU is visible: not applicable")
    if machine.torch and machine.torch.cuda == "":
        said = f"{machine.gpus} GPUs are visible, and torch {machine.torch.version} is built without CUDA"
        return warning(said, "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu128")
    if ranks and ranks > machine.gpus:
        return warning(
            f"{ranks} ranks for {machine.gpus} visible GPUs", f"torchrun --nproc-per-node {machine.gpus} ..."
        )
    return ok(f"{machine.gpus} GPUs are visible{f' for {ranks} ranks' if ranks else ''}")
