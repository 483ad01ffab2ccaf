"""# DD272 device-order

## What
All ranks are in the same operation, none is missing, it does not finish, and operations of another process group are
enqueued on the same devices and have not finished either. Not reproduced here: needs GPUs. The diagnosis is tested on
constructed evidence, and is `possible` at most.

## Why it hangs
A collective of NCCL occupies a part of the GPU until all its members run it. Two communicators whose operations are
started in different orders on different devices, on different streams or before a wait of the whole device, hold each
other up, although every process has issued both in the same order.

## Example
    dist.all_reduce(a, group=first, async_op=True)       # on one stream
    dist.all_reduce(b, group=second, async_op=True)      # on another: which of them starts first is up to the device
    total.tolist()                                       # waits for everything

## Fix
Finish the operation of one group before one of another begins on the same device: `work.wait()`, one stream for both,
or an event between the streams. Set CUDA_DEVICE_MAX_CONNECTIONS=1 to try whether the order is the cause.

## When it is wrong
If the transport of the first operation fails (DD271), everything that was enqueued behind it stands as well: which of
the two it is only the devices know. Test the transport after the order.

## References
https://github.com/meta-pytorch/torchrec/issues/4149 https://github.com/ROCm/rccl/issues/2191
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked.met_operations import Met, met
from ddpdoctor.diagnose.codes import DEVICE_ORDER
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    found = met(facts)
    if found is not None and found.beside and found.on_devices:
        yield _diagnosis(facts, found)


def _diagnosis(facts: Facts, found: Met) -> Diagnosis:
    names = ", ".join(sorted(found.beside)[:4])
    return diagnosis(
        DEVICE_ORDER,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        summary=(
            f"all ranks are in {wording.waiting(facts, facts.waiting)}, none is missing, and operations of group "
            f"{names} are enqueued and not finished"
        ),
        why=(
            "The ranks agree on the order, and operations of more than one group are open on their devices: these "
            "may have started them in different orders, so that each holds up another. A transport that fails would "
            "look the same."
        ),
        fix=(
            "Finish the operation of one group before one of another begins on the same device: work.wait(), one "
            "stream for both, or an event between them. `CUDA_DEVICE_MAX_CONNECTIONS=1` shows whether the order is "
            "the cause."
        ),
        locations=facts.locations_of(facts.waiting),
        evidence=tuple(
            f"{wording.ranks(ranks)}: group {name} has an operation that is enqueued and not finished"
            for name, ranks in sorted(found.beside.items())
        ),
    )
