"""# DD302 stacks-readable

## What
py-spy can read the stacks of a process that allows it, as ranks do under `ddpdoctor watch`. The check starts a process
of its own and reads its stacks.

## Why it matters
Yama, a security module, or a container may refuse it. `watch` then uses the stacks that ranks take of themselves;
`dump`, and `watch --no-probe`, have none.

## Fix
Docker: `--cap-add=SYS_PTRACE`. Kubernetes: `SYS_PTRACE` in `securityContext.capabilities.add` of the container.

## When it is wrong
If ranks run as another user than ddpdoctor, reading the check's own process says nothing about them.

## References
https://github.com/benfred/py-spy#how-do-i-run-py-spy-in-docker
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown
from ddpdoctor.checkup.machine import Machine
from ddpdoctor.collect import refusal
from ddpdoctor.collect.refusal import Circumstances

CHECK = Check("DD302", "stacks-readable")


def judge(machine: Machine) -> Judgement:
    tried = machine.attach
    if tried is None:
        return unknown("nothing was tried, because py-spy is not installed")
    if tried.worked:
        return ok("py-spy reads the stacks of a process that allows it")
    said = f"py-spy cannot read the stacks of a process that allows it: {tried.said}"
    seen = Circumstances(yama=machine.yama, may_trace=machine.may_trace, container=machine.container)
    return problem(said, refusal.why(seen).remedy(seen))
