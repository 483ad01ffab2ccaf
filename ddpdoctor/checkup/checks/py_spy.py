"""# DD301 py-spy-runs

## What
py-spy, which reads the Python stacks of running processes, is installed and starts.

## Why it matters
Without it `watch` uses the stacks that ranks take of themselves; `dump`, and `watch --no-probe`, can say little.

## Fix
    pip install --force-reinstall py-spy

## When it is wrong
Never: the program is started.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown
from ddpdoctor.checkup.machine import Machine
from ddpdoctor.collect import pyspy

CHECK = Check("DD301", "py-spy-runs")


def judge(machine: Machine) -> Judgement:
    tried = machine.pyspy
    if tried is None:
        return unknown("py-spy was not tried")
    if tried.worked:
        return ok(f"{tried.said} runs")
    return problem(f"py-spy does not run: {tried.said}", pyspy.REINSTALL)
