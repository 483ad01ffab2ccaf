"""# DD303 ptrace-scope-allows-watch

## What
The kernel's `yama.ptrace_scope` lets a process be read by one that it names (modes 0 and 1), or ddpdoctor has
CAP_SYS_PTRACE.

## Why it matters
In mode 2 only processes with the capability may read stacks, in mode 3 none. In mode 1 the ranks of `watch` name their
reader, while a job that was started without it can be read by root only.

## Fix
    sudo sysctl kernel.yama.ptrace_scope=1

## When it is wrong
A kernel without Yama has no such limit; others, such as SELinux, may apply. `stacks-readable` tries it.

## References
https://www.kernel.org/doc/Documentation/security/Yama.rst
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem
from ddpdoctor.checkup.machine import Machine
from ddpdoctor.collect.refusal import Circumstances, Refusal

CHECK = Check("DD303", "ptrace-scope-allows-watch")


def judge(machine: Machine) -> Judgement:
    if machine.yama is None:
        return ok("the kernel has no Yama, which would limit who may read stacks")
    if machine.may_trace and machine.yama < 3:
        return ok(f"kernel.yama.ptrace_scope is {machine.yama}, and CAP_SYS_PTRACE is there")
    if machine.yama <= 1:
        return ok(f"kernel.yama.ptrace_scope is {machine.yama}, which lets `watch` read the stacks of its ranks")
    seen = Circumstances(yama=machine.yama)
    said = f"kernel.yama.ptrace_scope is {machine.yama}: stacks cannot be read"
    if machine.yama == 3:
        return problem(f"{said} until the next boot with another value", Refusal.YAMA_3.remedy(seen))
    return problem(f"{said} without CAP_SYS_PTRACE", Refusal.YAMA_2.remedy(seen))
