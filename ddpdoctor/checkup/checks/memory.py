"""# DD306 memory-for-each-rank

## What
Each rank of this node can have at least 1 GiB of memory; `import torch` alone takes about 0.4 GiB with CUDA.

## Why it matters
If memory runs out, the kernel kills a rank or one of its workers with SIGKILL: no traceback, and the others hang.

## Fix
Start fewer ranks or fewer DataLoader workers, or raise the container's limit.

## When it is wrong
What the model, its optimizer and the data need is not known before the job runs.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown, warning
from ddpdoctor.checkup.machine import Machine

_GIB = 1 << 30

CHECK = Check("DD306", "memory-for-each-rank")


def judge(machine: Machine) -> Judgement:
    ranks = machine.launch.ranks_per_node or machine.gpus or 1
    if machine.memory is None:
        return unknown("the available memory cannot be asked")
    each = machine.memory / ranks / _GIB
    said = f"{machine.memory / _GIB:.1f} GiB of memory are available, {each:.1f} GiB for each of {ranks} ranks"
    if ranks == 1:
        said = f"{each:.1f} GiB of memory are available"
    if each < 0.5:
        return problem(said, "free -h", "ps aux --sort=-rss | head")
    return warning(said, "free -h") if each < 1 else ok(said)
