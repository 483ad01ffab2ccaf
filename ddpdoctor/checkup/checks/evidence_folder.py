"""# DD316 evidence-can-be-kept

## What
The folder in which `watch` keeps its evidence can be written to and has at least 200 MB of space.

## Why it matters
A verdict whose evidence cannot be kept is printed once, and cannot be looked at again or sent to anybody.

## Fix
    ddpdoctor watch --bundle /path/with/space -- ...

## When it is wrong
With `--bundle` the folder is another one.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, unknown, warning
from ddpdoctor.checkup.machine import Machine

_ENOUGH = 200_000_000

CHECK = Check("DD316", "evidence-can-be-kept")


def judge(machine: Machine) -> Judgement:
    if machine.state_error:
        return warning(machine.state_error, "ddpdoctor watch --bundle /tmp/ddpdoctor-bundle -- ...")
    space = machine.state_space
    if space is None:
        return unknown(f"{machine.state_folder} cannot be asked")
    said = f"{machine.state_folder} has {space.free / 1e6:,.0f} MB free"
    return ok(said) if space.free >= _ENOUGH else warning(said, f"df -h {machine.state_folder}")
