"""No process selects its GPU

## What it does
Finds a script that creates an NCCL process group and then uses "cuda" without an index, or "cuda:0", on all ranks
(`.cuda()`, `.to("cuda")`, `device="cuda:0"`), or collectives that run on the current device (object collectives), while
no code that lint can read selects the device of each process; and a device that all ranks select by the same number:
`torch.cuda.set_device(0)`, `DDP(net, device_ids=[0])`. It is a hint: at first looks, few programs came to harm by it.

## Why it hangs
Until a process selects another, its current device is GPU 0. All ranks of a node put their model there: GPU 0 runs out
of memory, and NCCL rejects a GPU that two ranks share ("Duplicate GPU detected") or waits for ever.

## Example
```python
dist.init_process_group("nccl")
model = DDP(Net().cuda())
```

## Use instead
```python
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
model = DDP(Net().cuda())
```

## Fix safety
No automatic fix.

## When it is wrong
When the launcher makes only one GPU visible to each process (for example Slurm's `--gpus-per-task=1`), or starts one
process on each machine. Frameworks that place their processes, groups of one process, and files that call set-up
functions which cannot be read, are not reported; of DeepSpeed, only what uses the current device between
`init_distributed` and `initialize`.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import devices, launch
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Items, Made
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD141",
    "missing-set-device",
    Severity.HINT,
    ("DD263",),
    advice='call torch.cuda.set_device(local_rank) before anything uses "cuda"',
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """NCCL groups after which the current device is used although it was never set, or may be."""
    yield from _before_engine(facts)
    yield from _same_number(facts)
    groups = [call for call in facts.named(devices.GROUP) if not launch.of_one_process(call)]
    if not groups or devices.chosen(facts):
        return
    sure = [c for c in groups if c.context.from_script and devices.on_nccl(facts, c)]
    use = next((c for c in facts.calls if _uses_current(facts, c)), None)
    if sure and use is not None and not devices.may_be_chosen_outside(facts):
        message = (
            "no process selects its GPU, and the current device is GPU 0 on every rank: call torch.cuda.set_device"
        )
        related = ((use.site, _note(use)),)
        yield facts.finding(RULE, sure[0].site, message, related=related, context=sure[0].context)
        return
    open_ = [c for c in groups if devices.may_be_on_nccl(facts, c) and not devices.bound(c)]
    if open_ and facts.suggests(heuristics.USES_GPU) and not devices.may_be_chosen_outside(facts):
        message = (
            "unless the callers, or each tensor and collective by its index, select the GPU of the process, the "
            "current device is GPU 0 on every rank: call torch.cuda.set_device"
        )
        first = open_[0]
        yield facts.finding(RULE, first.site, message, context=first.context, severity=Severity.HINT)


#: what selects a device for the process or its model: position and name of the argument
_SELECTING = {
    "torch.cuda.set_device": (0, "device"),
    "torch.accelerator.set_device_index": (0, "device"),
    "torch.nn.parallel.DistributedDataParallel": (1, "device_ids"),
    aliases.FSDP: (-1, "device_id"),
}


def _same_number(facts: ModuleFacts) -> Iterator[Finding | None]:
    """A device that all ranks of a group of several select by one number."""
    groups = [call for call in facts.named(devices.GROUP) if not launch.of_one_process(call)]
    if not groups or not any(devices.on_nccl(facts, call) for call in groups) or devices.one_visible(facts):
        return
    for path, (position, name) in _SELECTING.items():
        for call in facts.named(path):
            number = _number(call.argument(position, name))
            sure = all(isinstance(truth, bool) for guard in call.context.guards for truth in guard.truth)
            if number is None or call.context.some_ranks_only or not sure or launch.in_one_process(facts, call):
                continue
            message = Conditional(
                "unless each process has a machine, or a visible GPU, of its own, ",
                f"all ranks of a machine use GPU {number}, which NCCL refuses or waits for: select it by LOCAL_RANK",
            )
            yield facts.finding(RULE, call.site, message, context=call.context)


def _number(device: Value | None) -> int | None:
    """The number of a device that is the same on all ranks: `0`, `[0]`, `"cuda:0"`, `torch.device("cuda:0")`."""
    obj = device.object if device is not None else None
    if isinstance(obj, Items):
        return _number(obj.items[0]) if len(obj.items) == 1 else None
    if isinstance(obj, Made) and obj.path == "torch.device" and obj.args:
        return _number(obj.args[-1])
    said = device.constant if device is not None else None
    if isinstance(said, str) and said.startswith("cuda:") and said[5:].isdecimal():
        return int(said[5:])
    return said if type(said) is int else None


def _before_engine(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Between DeepSpeed's `init_distributed`, which makes the group, and `initialize`, which selects the device."""
    groups = [c for c in facts.named(_DEEPSPEED_GROUP) if c.context.from_script]
    if not groups or facts.suggests(heuristics.CHOOSES_DEVICE) or devices.one_visible(facts):
        return
    backends = devices.texts_of(groups[0], 0, "dist_backend")
    engine = next((c for c in facts.named(_ENGINE) if c.index > groups[0].index), None)
    if engine is None or (backends and "nccl" not in backends):
        return
    uses = (c for c in facts.calls[groups[0].index : engine.index] if _uses_current(facts, c, every=False))
    use = next(uses, None)
    if use is not None:
        message = (
            "deepspeed.initialize selects the GPU of the process, and the current device is GPU 0 on every rank until "
            "then: call set_device before it is used"
        )
        related = ((use.site, _note(use)), (engine.site, "the device is selected here"))
        yield facts.finding(RULE, groups[0].site, message, related=related, context=groups[0].context)


_DEEPSPEED_GROUP = "deepspeed.init_distributed"
_ENGINE = "deepspeed.initialize"


def _note(use: CallEvent) -> str:
    if use.path in devices.OBJECTS:
        return "objects are sent through the current device"
    return '"cuda" without an index is the current device; "cuda:0" is GPU 0 on every rank'


def _uses_current(facts: ModuleFacts, call: CallEvent, *, every: bool = True) -> bool:
    """A move to "cuda", or a collective that runs on the current device; if `every`, on all ranks."""
    context = call.context
    if (every and context.some_ranks_only) or not context.from_script or launch.in_one_process(facts, call):
        return False
    if call.path in devices.OBJECTS:
        return devices.default_group(call) and call.keyword("device") is None and not call.opaque
    return devices.unspecified(call) and not _is_bare_loss(call)


def _is_bare_loss(call: CallEvent) -> bool:
    """Whether it moves a loss that was made without weights: there is nothing in it to move."""
    made = call.receiver.object if call.receiver is not None else None
    if not isinstance(made, Made) or not made.path.startswith("torch.nn.") or not made.path.endswith("Loss"):
        return False
    return not made.args and made.keyword("weight") is None
