"""# DD305 open-files-allowed

## What
The soft limit of open files is at least 1,024 for each process.

## Why it matters
Each connection between ranks, each shared tensor of a DataLoader worker and each data file takes one. At the limit a
rank fails with `Too many open files`, often only after hours, and the others wait for it.

## Fix
    ulimit -n 65536

## When it is wrong
A job with few ranks and `torch.multiprocessing.set_sharing_strategy('file_system')` needs fewer.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, unknown, warning
from ddpdoctor.checkup.machine import Machine

_ENOUGH = 1024

CHECK = Check("DD305", "open-files-allowed")


def judge(machine: Machine) -> Judgement:
    if machine.open_files is None:
        return unknown("the limit of open files cannot be asked")
    soft, hard = machine.open_files
    unlimited = soft < 0
    said = "open files are not limited" if unlimited else f"a process may open {soft:,} files"
    if unlimited or soft >= _ENOUGH:
        return ok(said)
    return warning(said, f"ulimit -n {65536 if hard < 0 else min(hard, 65536)}")
