"""# DD307 torch-supported

## What
torch is installed where the command runs, in a version (2.5 or newer) into which the probe can be loaded.

## Why it matters
Older versions are watched from outside only: stacks and /proc. From 2.11 on torch's Flight Recorder is on by default;
before, `watch` turns it on.

## Fix
    pip install --upgrade torch

## When it is wrong
A command that is a shell script does not say which Python it starts: then the first one on PATH is looked at.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, unknown, warning
from ddpdoctor.checkup.machine import Machine

CHECK = Check("DD307", "torch-supported")


def judge(machine: Machine) -> Judgement:
    if machine.torch is None:
        return unknown("no torch was found where the command, or the first Python on PATH, looks for packages")
    release = tuple(int(part) for part in machine.torch.version.split("+")[0].split(".")[:2] if part.isdigit())
    if release < (2, 5):
        said = f"torch {machine.torch.version} loads no plug-ins: without the probe much less can be proven"
        return warning(said, "pip install --upgrade torch")
    return ok(f"torch {machine.torch.version}")
