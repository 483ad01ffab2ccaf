"""# DD309 flight-recorder-on

## What
No variable turns torch's Flight Recorder off: `TORCH_FR_BUFFER_SIZE` (before torch 2.8 `TORCH_NCCL_TRACE_BUFFER_SIZE`)
is not 0.

## Why it matters
The recorder holds what each rank has issued, and on a GPU what has completed: a verdict on NCCL rests on it. Where the
variables are not set, `watch` sets them.

## Fix
    unset TORCH_FR_BUFFER_SIZE TORCH_NCCL_TRACE_BUFFER_SIZE

## When it is wrong
Never: a variable that is set is left as it is.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, warning
from ddpdoctor.checkup.machine import Machine

NAMES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")

CHECK = Check("DD309", "flight-recorder-on")


def judge(machine: Machine) -> Judgement:
    off = [name for name in NAMES if machine.environ.get(name, "").strip() == "0"]
    if off:
        return warning(f"{' and '.join(off)}=0 turns torch's Flight Recorder off", f"unset {' '.join(off)}")
    return ok("nothing turns torch's Flight Recorder off")
