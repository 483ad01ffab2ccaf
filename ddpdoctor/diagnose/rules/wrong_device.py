"""# DD263 wrong-device

## What
The ranks did not select their GPU before the first collective, so several of them may use the same one.

## Why it hangs
NCCL guesses the device from the rank, or uses cuda:0. Two ranks of one communicator on one GPU wait for each other in
kernels that cannot run at the same time, or NCCL rejects this ("Duplicate GPU detected").

## Example
    dist.init_process_group("nccl")
    dist.barrier()                       # on which device?

## Fix
Call `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before `init_process_group`, and pass `device_id=` to it.

## When it is wrong
The evidence does not show the devices themselves, only that the source selects none and the first NCCL collective does
not return. The diagnosis is never more than `possible`.

## References
https://github.com/pytorch/pytorch/issues/53934 https://github.com/pytorch/pytorch/issues/68973
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import WRONG_DEVICE
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.program.nodes import last_name, walk

#: calls and variables by which a program selects its device, directly or through a library
_CHOOSING_CALLS = frozenset({"set_device", "Accelerator"})
_DEVICES = "CUDA_VISIBLE_DEVICES"
_MANAGING = frozenset({"init_process_group", "new_group", "split_group"})


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    first = [rank for rank in facts.evidence.ranks if _in_first_collective(rank)]
    everyone = len(first) == facts.evidence.world_size > 1 and len(facts.waiting) == len(first)
    chosen = any(_chooses(facts.program.tree(file)) for file in facts.program)
    if facts.outcome is Outcome.HANG and everyone and facts.evidence.code and not chosen and not facts.splits:
        yield _diagnosis(facts, RankSet.of(rank.rank for rank in first))


def _chooses(tree: ast.Module | None) -> bool:
    """A file that is not known as a whole may select one."""
    return tree is None or any(_chooses_device(node) for node in walk(tree))


def _chooses_device(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=func, keywords=keywords):
            name = last_name(func)
            named = name in _CHOOSING_CALLS or name.endswith("Trainer")  # transformers', Lightning's and others
            return named or any(keyword.arg == "device_id" for keyword in keywords)
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] == "deepspeed" for alias in names)
        case ast.ImportFrom(module=str(module)):
            return module.partition(".")[0] == "deepspeed"
        case ast.Constant(value=str(value)):
            return value == _DEVICES
    return False


def _in_first_collective(rank: RankEvidence) -> bool:
    """On NCCL, with no collective before the one that it is in."""
    if rank.page is None or "nccl" not in rank.page.backend or rank.page.events_lost:
        return False
    calls = [e.call for e in rank.page.events if e.kind is EventKind.CALL and e.call and e.call.op not in _MANAGING]
    return len(calls) == 1


def _diagnosis(facts: Facts, ranks: RankSet) -> Diagnosis:
    return diagnosis(
        WRONG_DEVICE,
        ranks,
        confidence=Confidence.POSSIBLE,
        summary=f"the first NCCL collective does not return on {wording.ranks(ranks)}, and no rank selected its GPU",
        why=(
            "All ranks are in the first collective, so none is missing. Nothing in the available source selects a "
            "device, so ranks may share one."
        ),
        fix=(
            'Call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) before init_process_group, and give it '
            "device_id."
        ),
        locations=facts.locations_of(ranks),
        evidence=(f"{wording.ranks(ranks)}: one collective begun, none finished, backend nccl",),
    )
